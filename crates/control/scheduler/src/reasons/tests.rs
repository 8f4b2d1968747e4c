use super::*;

#[test]
fn counts_reasons_and_sorts_the_lines_as_text() {
    let both = Rejection { more: vec!["Insufficient memory".into()], ..Rejection::new("Insufficient cpu") };
    let cpu = Rejection::new("Insufficient cpu");
    for (case, total, nodes, others, wanted) in [
        ("none looked at", 2, vec![], "", "0/2 nodes are available:"),
        ("one reason", 1, vec![&cpu], "", "0/1 nodes are available: 1 Insufficient cpu."),
        (
            "a node with two reasons counts in both",
            2,
            vec![&cpu, &both],
            "",
            "0/2 nodes are available: 1 Insufficient memory, 2 Insufficient cpu.",
        ),
        (
            "the rest",
            12,
            vec![&cpu],
            NOT_HELPFUL,
            "0/12 nodes are available: 1 Insufficient cpu, 11 Preemption is not helpful for scheduling.",
        ),
    ] {
        assert_eq!(nowhere(total, nodes.into_iter(), others), wanted, "{case}");
    }
}

#[test]
fn long_texts_end_in_dots_and_within_a_character() {
    assert_eq!(shortened("short"), "short");
    let long = shortened(&"ä".repeat(1000));
    assert!(long.len() <= 1024 && long.ends_with("ä ..."), "{} bytes", long.len());
}
