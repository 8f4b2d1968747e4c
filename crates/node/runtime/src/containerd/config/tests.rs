use super::*;

fn config(folder: &Path) -> Config {
    Config {
        folder: folder.to_owned(),
        program: "containerd".to_owned(),
        pause_image: "pause:1".to_owned(),
        cni_programs: PathBuf::from("/bin"),
        cni_config: PathBuf::from("/net.d"),
        restrict_oom_scores: true,
        cgroups: Vec::new(),
    }
}

#[test]
fn a_version_is_read_from_what_a_program_says() {
    for (text, major, minor) in [
        ("containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u3", 1, 6),
        ("containerd github.com/containerd/containerd/v2 v2.1.5 fcd43222d6b07379a4be9786bda52438", 2, 1),
        ("containerd github.com/containerd/containerd/v2 2.3.4+unknown", 2, 3),
        ("what?", 1, 0),
        ("", 1, 0),
    ] {
        assert_eq!(Version::read(text), Version { major, minor }, "{text}");
    }
}

#[test]
fn each_version_is_told_in_its_own_words() {
    let config = config(Path::new("/d"));
    let of = |major| config.text(Version { major, minor: 1 });
    for line in ["version = 2\n", "\nsandbox_image = \"pause:1\"\n"] {
        assert!(of(1).contains(line) && !of(2).contains(line), "{line}");
    }
    for line in ["version = 3\n", "\nsandbox = \"pause:1\"\n", "\ndisable = true\n"] {
        assert!(of(2).contains(line) && !of(1).contains(line), "{line}");
    }
    for line in ["\nroot = \"/d/root\"\n", "\nrestrict_oom_score_adj = true\n"] {
        assert!(of(1).contains(line) && of(2).contains(line), "{line}");
    }
    for (major, minor, line) in [
        (1, 6, "\nbin_dir = \"/bin\"\n"),
        (2, 0, "\nbin_dir = \"/bin\"\n"),
        (2, 1, "\nbin_dirs = [\"/bin\"]\n"),
        (3, 0, "\nbin_dirs = [\"/bin\"]\n"),
    ] {
        assert!(config.text(Version { major, minor }).contains(line), "{major}.{minor}");
    }
}

#[test]
fn newer_ones_are_told_to_leave_counting_to_us() {
    let config = config(Path::new("/d"));
    for (major, minor, counts) in [(1, 7, true), (2, 0, true), (2, 2, true), (2, 3, false), (3, 0, false)] {
        let text = config.text(Version { major, minor });
        assert_eq!(!text.contains("\nstats_collect_period = \"1h\"\n"), counts, "{major}.{minor}");
    }
}

/// Whichever version is installed here: it tells what it has understood, and warns of what it has not.
#[test]
fn the_one_on_this_machine_understands_all_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path());
    std::fs::write(config.file(), config.text(Version::of(&config.program))).unwrap();
    let mut command = Command::new(&config.program);
    let told = command.arg("--config").arg(config.file()).args(["config", "dump"]).output().unwrap();
    let (said, warned) = (String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
    assert!(told.status.success() && warned.is_empty(), "{warned}");
    // Some versions quote in one way and some in the other.
    let lines: Vec<String> = said.lines().map(|line| line.trim().replace('\'', "\"")).collect();
    let is_told = |line: &str| lines.iter().any(|told| told == line);
    for (case, ways) in [
        ("the image of sandboxes", &["sandbox_image = \"pause:1\"", "sandbox = \"pause:1\""][..]),
        ("where registries are", &[&*format!("config_path = {}", quoted(&config.hosts()))]),
        ("the network's programs", &["bin_dir = \"/bin\"", "bin_dirs = [\"/bin\"]"]),
        ("the network's configuration", &["conf_dir = \"/net.d\""]),
        ("what must not be asked of us", &["restrict_oom_score_adj = true"]),
        ("networks are below its folder", &["netns_mounts_under_state_dir = true"]),
        ("huge pages are counted", &["disable_hugetlb_controller = false"]),
        ("who makes cgroups", &["SystemdCgroup = false"]),
        ("its own folder", &[&*format!("root = {}", quoted(&config.folder.join("root")))]),
        ("its own socket", &[&*format!("address = {}", quoted(&config.socket()))]),
    ] {
        assert!(ways.iter().any(|way| is_told(way)), "{case}: {ways:?} of\n{said}");
    }
}

#[test]
fn any_folder_is_a_string_of_toml() {
    for (path, text) in [
        ("/var/lib/kedge", r#""/var/lib/kedge""#),
        ("/a \"b\"\\c", r#""/a \"b\"\\c""#),
        ("/new\nline", r#""/new\u000Aline""#),
    ] {
        assert_eq!(quoted(Path::new(path)), text);
    }
}
