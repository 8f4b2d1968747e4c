use super::*;

fn written(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|(file, text)| fs::write(folder.path().join(file), text).unwrap());
    folder
}

#[test]
fn both_versions_tell_the_same() {
    let one = written(&[
        ("cpuacct.usage", "3000000000\n"),
        ("cpuacct.stat", "user 200\nsystem 100\n"),
        ("cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_time 5000000\n"),
        ("memory.usage_in_bytes", "1000\n"),
        ("memory.max_usage_in_bytes", "2000\n"),
        ("memory.limit_in_bytes", "4096\n"),
        ("memory.failcnt", "3\n"),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"),
        (
            "memory.stat",
            "cache 1\ntotal_cache 300\ntotal_rss 600\ntotal_mapped_file 50\ntotal_swap 7\ntotal_pgfault 9\n\
             total_pgmajfault 2\ntotal_inactive_file 250\n",
        ),
        ("pids.current", "5\n"),
    ]);
    let two = written(&[
        (
            "cpu.stat",
            "usage_usec 3000000\nuser_usec 2000000\nsystem_usec 1000000\nnr_periods 10\nnr_throttled 4\nthrottled_usec 5000\n",
        ),
        ("memory.current", "1000\n"),
        ("memory.peak", "2000\n"),
        ("memory.max", "4096\n"),
        ("memory.swap.current", "7\n"),
        ("memory.events", "low 0\nhigh 0\nmax 3\noom 1\noom_kill 1\n"),
        ("memory.stat", "anon 600\nfile 300\nfile_mapped 50\npgfault 9\npgmajfault 2\ninactive_file 250\n"),
        ("pids.current", "5\n"),
    ]);
    let expected = Sample {
        cpu: Some(CpuUse {
            total: 3_000_000_000,
            user: 2_000_000_000,
            system: 1_000_000_000,
            periods: 10,
            throttled_periods: 4,
            throttled: 5_000_000,
        }),
        memory: Some(MemoryUse {
            usage: 1000,
            working_set: 750,
            rss: 600,
            cache: 300,
            mapped: 50,
            swap: Some(7),
            faults: 9,
            major_faults: 2,
            peak: 2000,
            limit: Some(4096),
            failures: 3,
            killed: 1,
        }),
        threads: Some(5),
        pressures: Pressures::default(),
    };
    assert_eq!(v1(|_| Some(one.path().to_owned())), Some(expected.clone()));
    assert_eq!(v2(two.path()), Some(expected));
}

#[test]
fn what_is_not_there_is_not_nothing() {
    let empty = written(&[]);
    assert_eq!(v1(|_| Some(empty.path().to_owned())), None);
    assert_eq!(v2(empty.path()), None);
    let unlimited = written(&[("memory.current", "10"), ("memory.max", "max")]);
    assert_eq!(v2(unlimited.path()).unwrap().memory.unwrap().limit, None);
    let unlimited =
        written(&[("memory.usage_in_bytes", "10"), ("memory.limit_in_bytes", "9223372036854771712")]);
    assert_eq!(v1(|_| Some(unlimited.path().to_owned())).unwrap().memory.unwrap().limit, None);
}
