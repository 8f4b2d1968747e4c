use super::*;

fn list(all: &[(&str, &str)]) -> Amounts {
    Amounts::of_list(&all.iter().map(|(name, text)| ((*name).to_owned(), Text((*text).to_owned()))).collect())
}

#[test]
fn reads_every_resource_in_its_unit() {
    let all = list(&[
        ("cpu", "0.1"),
        ("memory", "1Gi"),
        ("pods", "110"),
        ("example.com/b", "3"),
        ("hugepages-2Mi", "4Mi"),
    ]);
    for (name, wanted) in [
        ("cpu", 100),
        ("memory", 1 << 30),
        ("ephemeral-storage", 0),
        ("pods", 110),
        ("example.com/b", 3),
        ("example.com/c", 0),
        ("hugepages-2Mi", 4 << 20),
    ] {
        assert_eq!(all.get(name), wanted, "{name}");
    }
}

#[test]
fn what_is_added_and_taken_away_leaves_nothing() {
    let mut sum = list(&[("cpu", "1"), ("example.com/a", "1")]);
    let more = list(&[("cpu", "500m"), ("example.com/b", "2")]);
    sum.add(&more);
    assert_eq!((sum.milli_cpu, sum.get("example.com/a"), sum.get("example.com/b")), (1500, 1, 2));
    sum.subtract(&more);
    assert_eq!((sum.milli_cpu, sum.get("example.com/a"), sum.get("example.com/b")), (1000, 1, 0));
    sum.raise_to(&list(&[("cpu", "1m"), ("example.com/a", "7")]));
    assert_eq!((sum.milli_cpu, sum.get("example.com/a")), (1000, 7));
}
