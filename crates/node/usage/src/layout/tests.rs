use super::*;

const PURE_1: &str = "\
30 25 0:26 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755
31 30 0:27 / /sys/fs/cgroup/systemd rw,nosuid - cgroup cgroup rw,xattr,release_agent=/lib/x,name=systemd
32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct
33 30 0:29 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory
34 30 0:29 / /somewhere/else/sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory
35 30 0:30 / /sys/fs/cgroup/pids rw,nosuid - cgroup cgroup rw,pids
";
const PURE_2: &str = "30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const BOTH: &str = "\
31 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
32 30 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";

#[test]
fn every_layout_is_known() {
    for (case, table, version, memory, cpu, homes) in [
        (
            "one for each",
            PURE_1,
            Version::V1,
            Some("/sys/fs/cgroup/memory"),
            Some("/sys/fs/cgroup/cpu,cpuacct"),
            4,
        ),
        ("one", PURE_2, Version::V2, Some("/sys/fs/cgroup"), Some("/sys/fs/cgroup"), 1),
        ("both", BOTH, Version::V1, Some("/sys/fs/cgroup/memory"), None, 2),
        ("none", "", Version::V2, None, None, 0),
    ] {
        let layout = Layout::of(table);
        assert_eq!(layout.version(), version, "{case}");
        assert_eq!(layout.home("memory"), memory.map(Path::new), "{case}");
        assert_eq!(layout.home("cpu"), cpu.map(Path::new), "{case}");
        assert_eq!(layout.homes().len(), homes, "{case}");
    }
}
