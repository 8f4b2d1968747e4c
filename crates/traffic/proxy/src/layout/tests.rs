use super::*;

/// The kernel's own picture of a layout, as if it had just been written.
fn seen(layout: &Layout) -> Vec<SeenChain> {
    let shown = |chain: &Fixed| SeenChain {
        name: chain.name.to_owned(),
        hook: chain.hook.map(|(_, hook, priority)| (hook as u32, priority)),
        rules: chain.rules.iter().map(|rule| Some(rule.signature())).collect(),
    };
    layout.chains.iter().map(shown).collect()
}

#[test]
fn a_rule_that_is_not_ours_is_seen() {
    let layout = Layout::new(&["10.244.0.0/16".parse().unwrap()]);
    let whole = seen(&layout);
    let is_like =
        |chains: &[SeenChain]| layout.chains.iter().all(|chain| chains.iter().any(|seen| chain.is(seen)));
    assert!(is_like(&whole));
    for at in 0..whole.len() {
        let mut less = whole.clone();
        less[at].rules.pop();
        assert!(!is_like(&less), "without a rule of {}", whole[at].name);
        let mut other = whole.clone();
        other[at].rules[0] = None;
        assert!(!is_like(&other), "with another's rule in {}", whole[at].name);
    }
    let elsewhere = Layout::new(&["10.245.0.0/16".parse().unwrap()]);
    assert!(!is_like(&seen(&elsewhere)), "another cluster's");
}

#[test]
fn sets_have_names_of_their_own() {
    let names: std::collections::BTreeSet<&str> =
        Family::BOTH.iter().flat_map(|family| Role::all().map(|role| role.name(*family))).collect();
    assert_eq!(names.len(), 2 * Role::all().count());
}
