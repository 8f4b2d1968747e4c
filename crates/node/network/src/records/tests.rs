use super::*;

const HERE: &str = "/proc/self/ns/net";

struct Shelf(tempfile::TempDir);

impl Shelf {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn records(&self) -> Records {
        Records::lock(self.0.path()).unwrap()
    }

    fn reserve(&self, name: &str, ranges: &[&str], namespace: &str) -> Result<String, NetworkError> {
        let ranges: Vec<Range> = ranges.iter().map(|range| range.parse().unwrap()).collect();
        let owner = Owner::new(name, "eth0").unwrap();
        let record =
            self.records().reserve(&owner, &ranges, Path::new(namespace), Vec::new(), Limits::default())?;
        Ok(record.addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    }

    fn release(&self, name: &str) {
        self.records().release(&Owner::new(name, "eth0").unwrap()).unwrap();
    }

    fn taken(&self) -> usize {
        names(&self.0.path().join("addresses")).unwrap().len()
    }
}

#[test]
fn addresses_rest_before_they_come_back() {
    let shelf = Shelf::new();
    let next = |name| shelf.reserve(name, &["10.0.0.0/29"], HERE).unwrap();
    assert_eq!([next("a"), next("b"), next("c")], ["10.0.0.2", "10.0.0.3", "10.0.0.4"]);
    shelf.release("a");
    shelf.release("b");
    shelf.release("b");
    assert_eq!([next("d"), next("e"), next("f")], ["10.0.0.5", "10.0.0.6", "10.0.0.2"]);
    assert_eq!(next("g"), "10.0.0.3");
    let full = shelf.reserve("h", &["10.0.0.0/29"], HERE).unwrap_err();
    assert!(matches!(full, NetworkError::Full { .. }), "{full}");
    shelf.release("c");
    assert_eq!(next("h"), "10.0.0.4");
}

#[test]
fn each_family_gives_one() {
    let shelf = Shelf::new();
    let both = ["10.0.0.0/24", "fd00::/64"];
    assert_eq!(shelf.reserve("a", &both, HERE).unwrap(), "10.0.0.2 fd00::2");
    assert_eq!(shelf.reserve("b", &both, HERE).unwrap(), "10.0.0.3 fd00::3");
    assert_eq!(shelf.taken(), 4);
    shelf.release("a");
    assert_eq!(shelf.taken(), 2);
}

#[test]
fn a_family_without_room_leaves_nothing_of_the_other() {
    let shelf = Shelf::new();
    let both = ["10.0.0.0/24", "fd00::/127"];
    assert!(shelf.reserve("a", &both, HERE).is_err());
    assert_eq!(shelf.taken(), 0);
}

#[test]
fn what_dead_owners_left_is_found_when_it_is_needed() {
    let shelf = Shelf::new();
    let gone = shelf.0.path().join("gone");
    fs::write(&gone, "").unwrap();
    let next = |name, namespace: &str| shelf.reserve(name, &["10.0.0.0/29"], namespace);
    assert_eq!(next("a", "/no/such/namespace").unwrap(), "10.0.0.2");
    assert_eq!(next("b", gone.to_str().unwrap()).unwrap(), "10.0.0.3");
    assert_eq!(next("c", HERE).unwrap(), "10.0.0.4");
    // Whoever reserved these two did not live to write it down.
    for address in ["10.0.0.5", "10.0.0.6"] {
        symlink("lost@eth0", shelf.0.path().join("addresses").join(address)).unwrap();
    }
    assert_eq!(next("d", HERE).unwrap(), "10.0.0.5");
    assert_eq!(shelf.taken(), 2);
    let records = shelf.records();
    let owners: Vec<String> = records.all().unwrap().iter().map(|(owner, _)| owner.to_string()).collect();
    assert_eq!(owners.len(), 2, "{owners:?}");
}

#[test]
fn an_owner_without_a_record_gives_back_his_addresses_too() {
    let shelf = Shelf::new();
    shelf.reserve("a", &["10.0.0.0/24"], HERE).unwrap();
    fs::write(shelf.0.path().join("owners/a@eth0"), "{").unwrap();
    shelf.release("a");
    assert_eq!(shelf.taken(), 0);
}

#[test]
fn many_at_once_get_different_ones() {
    let shelf = Shelf::new();
    let mut all: Vec<String> = std::thread::scope(|scope| {
        let each = |worker: usize| {
            let shelf = &shelf;
            scope.spawn(move || {
                (0..20)
                    .map(|at| shelf.reserve(&format!("w{worker}-{at}"), &["10.0.0.0/24"], HERE).unwrap())
                    .collect::<Vec<_>>()
            })
        };
        let workers: Vec<_> = (0..8).map(each).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 160);
}
