use proptest::prelude::*;

use crate::{Budget, Env, PER_CALL_LIMIT, Type, Value};

proptest! {
    #[test]
    fn no_text_makes_the_compiler_panic(text in ".{0,200}") {
        let _ = Env::new().variable("self", Type::Dyn).compile(&text);
    }

    #[test]
    fn no_sequence_of_words_makes_the_compiler_panic(words in proptest::collection::vec(
        prop::sample::select(vec!["self", ".", "?", "[", "]", "(", ")", "{", "}", "1", "'a'", "b'x'", "+", "-", "!", "&&", "||",
            "==", "in", ":", ",", "has", "all", "map", "x", "null", "true", "1.5", "2u", "size", "`a`", "\"\"\"", "\\", "r'"]), 0..60))
    {
        let _ = Env::new().variable("self", Type::Dyn).compile(&words.join(" "));
        let _ = Env::new().variable("self", Type::Dyn).compile(&words.concat());
    }
}

#[test]
fn depth_is_limited_however_it_is_reached() {
    let deep = 5_000;
    for (case, text, limit) in shapes(deep) {
        let issues = Env::new().variable("self", Type::Dyn).compile(&text).unwrap_err();
        assert_eq!(issues[0].message, format!("expression recursion limit exceeded: {limit}"), "{case}");
    }
    assert!(
        Env::new().compile(&format!("true{}", " && true".repeat(deep))).is_ok(),
        "a long chain is no deep tree"
    );
    let issues = Env::new().compile(&"1".repeat(100_001)).unwrap_err();
    assert!(issues[0].message.contains("code point size exceeds limit"));
}

/// Texts that are so deep in one way or another.
fn shapes(deep: usize) -> [(&'static str, String, usize); 10] {
    [
        ("parentheses", format!("{}1{}", "(".repeat(deep), ")".repeat(deep)), 100),
        ("lists", format!("{}1{}", "[".repeat(deep), "]".repeat(deep)), 100),
        ("maps", format!("{}1{}", "{1:".repeat(deep), "}".repeat(deep)), 100),
        ("fields", format!("self{}", ".a".repeat(deep)), 250),
        ("indexes", format!("self{}", "[0]".repeat(deep)), 250),
        ("sums", format!("1{}", " + 1".repeat(deep)), 250),
        ("calls", format!("self{}", ".trim()".repeat(deep)), 250),
        ("choices", "true ? 1 : ".repeat(deep) + "1", 250),
        ("minuses between brackets", format!("{}1{}", "-(".repeat(deep), ")".repeat(deep)), 100),
        ("folds", format!("{}true{}", "[1].all(x, ".repeat(deep), ")".repeat(deep)), 100),
    ]
}

#[test]
fn what_is_just_within_the_limits_fits_the_stack() {
    for (place, (case, _, limit)) in shapes(1).into_iter().enumerate() {
        let text = shapes(limit - 3)[place].1.clone();
        let program = Env::new()
            .variable("self", Type::Dyn)
            .compile(&text)
            .unwrap_or_else(|issues| panic!("{case}: {issues:?}"));
        let _ = program.eval(&[("self", Value::text("a"))], &mut Budget::new(PER_CALL_LIMIT));
    }
}
