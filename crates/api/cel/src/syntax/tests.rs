use proptest::prelude::*;

use crate::{Env, Type};

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
    for (case, text) in [
        ("parentheses", format!("{}1{}", "(".repeat(deep), ")".repeat(deep))),
        ("lists", format!("{}1{}", "[".repeat(deep), "]".repeat(deep))),
        ("maps", format!("{}1{}", "{1:".repeat(deep), "}".repeat(deep))),
        ("fields", format!("self{}", ".a".repeat(deep))),
        ("indexes", format!("self{}", "[0]".repeat(deep))),
        ("sums", format!("1{}", " + 1".repeat(deep))),
        ("calls", format!("self{}", ".f()".repeat(deep))),
        ("choices", "true ? 1 : ".repeat(deep) + "1"),
        ("minuses between brackets", format!("{}1{}", "-(".repeat(deep), ")".repeat(deep))),
        ("folds", format!("{}true{}", "[1].all(x, ".repeat(deep), ")".repeat(deep))),
    ] {
        let issues = Env::new().variable("self", Type::Dyn).compile(&text).unwrap_err();
        assert_eq!(issues[0].message, "expression recursion limit exceeded: 250", "{case}");
    }
    assert!(Env::new().compile(&format!("true{}", " && true".repeat(deep))).is_ok(), "a long chain is no deep tree");
    let issues = Env::new().compile(&"1".repeat(100_001)).unwrap_err();
    assert!(issues[0].message.contains("code point size exceeds limit"));
}
