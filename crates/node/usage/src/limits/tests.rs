use super::*;

#[test]
fn limits_are_written_as_each_version_wants_them() {
    let cpu = Cpu { shares: Some(512), quota: Some(Some(50_000)), period: 100_000 };
    let full = Limits {
        cpu,
        memory: Some(1 << 20),
        processes: Some(7),
        huge_pages: [("2MB".to_owned(), 4 << 20)].into(),
    };
    let open = Limits { cpu: Cpu { shares: None, quota: Some(None), period: 100_000 }, ..Limits::default() };
    for (case, limits, version, expected) in [
        (
            "all of it, 1",
            &full,
            Version::V1,
            "cpu.shares=512 cpu.cfs_period_us=100000 cpu.cfs_quota_us=50000 memory.limit_in_bytes=1048576 pids.max=7 \
             hugetlb.2MB.limit_in_bytes=4194304",
        ),
        (
            "all of it, 2",
            &full,
            Version::V2,
            "cpu.weight=20 cpu.max=50000 100000 memory.max=1048576 pids.max=7 hugetlb.2MB.max=4194304",
        ),
        ("a quota taken away, 1", &open, Version::V1, "cpu.cfs_period_us=100000 cpu.cfs_quota_us=-1"),
        ("a quota taken away, 2", &open, Version::V2, "cpu.max=max 100000"),
        ("nothing", &Limits::default(), Version::V2, ""),
    ] {
        let writes = limits.writes(version);
        let found: Vec<String> =
            writes.iter().map(|write| format!("{}={}", write.file, write.value)).collect();
        assert_eq!(found.join(" "), expected, "{case}");
    }
}

#[test]
fn shares_have_a_place_on_the_other_scale() {
    for (shares, expected) in [(0, 1), (2, 1), (1024, 39), (262_144, 10_000), (u64::MAX, 10_000)] {
        assert_eq!(weight(shares), expected);
    }
}
