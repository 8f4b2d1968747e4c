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
