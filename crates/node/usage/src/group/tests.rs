use super::*;
use crate::limits::Cpu;

fn layouts(top: &Path) -> [(&'static str, Layout); 2] {
    let top = top.display();
    let v1 = format!(
        "1 0 0:1 / {top}/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
         2 0 0:2 / {top}/memory rw - cgroup cgroup rw,memory\n\
         3 0 0:3 / {top}/freezer rw - cgroup cgroup rw,freezer\n\
         4 0 0:4 / {top}/unified rw - cgroup2 cgroup2 rw\n"
    );
    let v2 = format!("1 0 0:1 / {top}/two rw - cgroup2 cgroup2 rw\n");
    [("v1", Layout::of(&v1)), ("v2", Layout::of(&v2))]
}

fn limits() -> Limits {
    Limits {
        cpu: Cpu { shares: Some(1024), quota: Some(Some(1000)), period: 100_000 },
        memory: Some(4096),
        ..Limits::default()
    }
}

/// A folder is no cgroup: its files must be there to be written.
fn prepare(folder: &Path, files: &[&str]) {
    fs::create_dir_all(folder).unwrap();
    files.iter().for_each(|file| fs::write(folder.join(file), "").unwrap());
}

#[test]
fn what_is_made_is_limited_and_removed_from_every_tree() {
    for (case, layout) in layouts(Path::new("")) {
        let top = tempfile::tempdir().unwrap();
        let layout =
            layouts(top.path()).into_iter().find(|(name, _)| *name == case).map_or(layout, |found| found.1);
        let groups = Groups::new(layout);
        for home in groups.layout.homes() {
            prepare(&home.join("a/pod1"), &[]);
            fs::write(home.join("cgroup.controllers"), "cpu memory io").unwrap();
        }
        groups.make("/a/pod1", &Limits::default()).unwrap();
        let read = |file: &str| fs::read_to_string(top.path().join(file)).unwrap_or_default();
        match case {
            "v1" => {
                groups.limit("a/pod1", &limits()).unwrap();
                assert_eq!(read("memory/a/pod1/memory.limit_in_bytes"), "4096");
                assert_eq!(read("cpu,cpuacct/a/pod1/cpu.cfs_quota_us"), "1000");
            }
            _ => {
                groups.limit("a/pod1", &limits()).unwrap();
                assert_eq!(read("two/a/pod1/memory.max"), "4096");
                assert_eq!(read("two/a/pod1/cpu.max"), "1000 100000");
                // The folder above lets it have what it has itself.
                assert!(
                    read("two/cgroup.subtree_control").ends_with('y'),
                    "{}",
                    read("two/cgroup.subtree_control")
                );
            }
        }
        assert_eq!(groups.below("a").unwrap().into_iter().collect::<Vec<_>>(), ["pod1"], "{case}");
        // The kernel's files go with the folder; here they are ordinary ones.
        for home in groups.layout.homes() {
            for entry in fs::read_dir(home.join("a/pod1")).unwrap() {
                fs::remove_file(entry.unwrap().path()).unwrap();
            }
        }
        groups.remove("/a/pod1").unwrap();
        groups.remove("/a/pod1").unwrap();
        assert!(!groups.exists("/a/pod1"), "{case}");
        assert!(groups.exists("/a"), "{case}");
    }
}

/// As far as the kernel is not needed: what it does with a word in the file shows only there.
#[test]
fn what_cannot_be_given_on_is_told_with_its_cause() {
    let top = tempfile::tempdir().unwrap();
    let control = top.path().join("cgroup.subtree_control");
    let told = |has: &str| {
        fs::write(top.path().join("cgroup.controllers"), has).unwrap();
        delegate(top.path()).map_err(|lacking| (lacking.controllers.join(" "), lacking.to_string()))
    };
    fs::write(&control, "cpu memory pids hugetlb").unwrap();
    assert_eq!(told("cpu memory pids hugetlb io"), Ok(()));
    fs::write(&control, "cpu pids").unwrap();
    let (controllers, message) = told("cpu pids").unwrap_err();
    assert_eq!(controllers, "memory", "nobody misses processors and pages that are not to be had");
    assert!(message.contains("it has none itself"), "{message}");
    fs::remove_file(&control).unwrap();
    // Nobody writes to a folder.
    fs::create_dir(&control).unwrap();
    let (controllers, message) = told("cpuset cpu memory pids").unwrap_err();
    assert_eq!(controllers, "cpu memory pids cpuset");
    assert!(message.contains("Is a directory") && message.contains("kedge doctor"), "{message}");
}

#[test]
fn a_cgroup_of_every_tree_can_hold_processes() {
    let top = tempfile::tempdir().unwrap();
    let at = top.path().display();
    let table = format!(
        "1 0 0:1 / {at}/memory rw - cgroup cgroup rw,memory\n\
         2 0 0:2 / {at}/cpuset rw - cgroup cgroup rw,cpuset\n\
         3 0 0:3 / {at}/systemd rw - cgroup cgroup rw,xattr,name=systemd\n\
         4 0 0:4 / {at}/broken rw - cgroup cgroup rw,freezer\n\
         5 0 0:5 / {at}/unified rw - cgroup2 cgroup2 rw\n"
    );
    for home in ["memory", "systemd", "unified"] {
        prepare(&top.path().join(home), &[]);
    }
    // A file where a folder should be, in the place of a tree that may only be read.
    fs::write(top.path().join("broken"), "").unwrap();
    let cpuset = top.path().join("cpuset");
    prepare(&cpuset, &[]);
    prepare(&cpuset.join("a"), &["cpuset.cpus", "cpuset.mems"]);
    fs::write(cpuset.join("cpuset.cpus"), "0-3\n").unwrap();
    fs::write(cpuset.join("cpuset.mems"), "0\n").unwrap();
    fs::write(cpuset.join("a/cpuset.mems"), "1\n").unwrap();
    let made = Groups::new(Layout::of(&table)).make_everywhere("/a");
    let (made, refused): (Vec<_>, Vec<_>) = made.into_iter().partition(Result::is_ok);
    let made: Vec<PathBuf> = made.into_iter().flatten().collect();
    assert_eq!(made, ["cpuset", "memory", "systemd", "unified"].map(|home| top.path().join(home).join("a")));
    assert_eq!(refused.len(), 1);
    let read = |name: &str| fs::read_to_string(cpuset.join("a").join(name)).unwrap();
    assert_eq!((&*read("cpuset.cpus"), &*read("cpuset.mems")), ("0-3", "1\n"), "what it has it keeps");
}

#[test]
fn a_path_stays_below_the_top() {
    let groups = Groups::new(Layout::default());
    for (path, fine) in [("/a/b", true), ("a", true), ("/a/../b", false), ("/./a", false)] {
        assert_eq!(groups.remove(path).is_ok(), fine, "{path}");
    }
}

#[test]
fn pages_are_called_as_the_kernel_calls_them() {
    for (bytes, name) in [(64 << 10, "64KB"), (2 << 20, "2MB"), (1 << 30, "1GB")] {
        assert_eq!(page_size(bytes), name);
    }
}
