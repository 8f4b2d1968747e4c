use super::*;

fn amounts(text: &str) -> BTreeMap<String, Quantity> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, amount)| (name.to_owned(), amount.parse().unwrap())).collect()
}

fn shown(amounts: &BTreeMap<String, Quantity>) -> String {
    let pairs: Vec<_> = amounts.iter().map(|(name, amount)| format!("{name}={amount}")).collect();
    pairs.join(",")
}

#[test]
fn pods_get_what_is_not_kept_back() {
    for (case, capacity, reserved, left) in [
        ("no reserve", "cpu=2,pods=110", "", "cpu=2,pods=110"),
        ("some of the cores", "cpu=2,pods=110", "cpu=500m", "cpu=1500m,pods=110"),
        ("the floor of memory", "memory=1Gi", "", "memory=924Mi"),
        ("floor and reserve", "memory=1Gi", "memory=24Mi", "memory=900Mi"),
        ("the floor of the disk", "ephemeral-storage=10Gi", "", "ephemeral-storage=9Gi"),
        ("huge pages are memory", "hugepages-2Mi=200Mi,memory=1Gi", "", "hugepages-2Mi=200Mi,memory=724Mi"),
        ("never less than nothing", "cpu=1,memory=50Mi", "cpu=2", "cpu=0,memory=0"),
    ] {
        assert_eq!(shown(&allocatable(&amounts(capacity), &amounts(reserved))), left, "{case}");
    }
}

#[test]
fn what_a_person_says_wins() {
    let told = Told {
        labels: BTreeMap::from([("zone".to_owned(), "a".to_owned())]),
        capacity: amounts("cpu=64,memory=1Ti,pods=7"),
        ..Told::default()
    };
    let facts = Facts::read("n", Path::new("/"), &told, "r://1".to_owned(), "v1".to_owned());
    let written = written(&facts.capacity);
    let of = |name: &str| written.get(name).map(|amount| &*amount.0);
    assert_eq!((of("cpu"), of("memory"), of("pods")), (Some("64"), Some("1Ti"), Some("7")));
    assert!(of("ephemeral-storage").is_some());
    assert_eq!(facts.labels.get("zone").map(|value| &**value), Some("a"));
    assert_eq!(facts.labels.get("kubernetes.io/hostname").map(|value| &**value), Some("n"));
    assert_eq!(facts.info.operating_system, "linux");
}
