use super::*;

fn difference(step: &str, path: &str) -> Difference {
    Difference { topic: "t".into(), step: step.into(), path: path.into(), expected: None, got: None }
}

fn known(step: &str, path: &str) -> Known {
    Known { topic: "t".into(), step: step.into(), path: path.into(), reason: "meant".into() }
}

#[test]
fn an_entry_hides_what_it_covers_and_nothing_else() {
    for (case, entry, hidden) in [
        ("the very place", known("a", "body.x"), true),
        ("any step", known("*", "body.x"), true),
        ("all below", known("a", "body*"), true),
        ("anything between", known("a", "b*.x"), true),
        ("another end", known("a", "b*.y"), false),
        ("another step", known("b", "body.x"), false),
        ("a shorter path", known("a", "body"), false),
    ] {
        let verdict = judge(vec![difference("a", "body.x")], &[entry]);
        assert_eq!(verdict.unexpected.is_empty(), hidden, "{case}");
        assert_eq!(verdict.outdated.is_empty(), hidden, "{case}");
    }
}
