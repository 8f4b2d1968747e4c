//! Who remembers decides as who does not, whatever happened before; and what did not change stays the very same thing.

use super::*;

/// Numbers that look like chance and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % count
    }

    fn of(&mut self, words: &[&'static str]) -> &'static str {
        words[usize::try_from(self.below(words.len() as u64)).unwrap()]
    }
}

#[derive(Default)]
struct World {
    policies: BTreeMap<String, Arc<NetworkPolicy>>,
    pods: BTreeMap<String, Arc<Pod>>,
    namespaces: BTreeMap<String, Arc<Namespace>>,
    places: Places,
}

fn one<T: serde::de::DeserializeOwned>(object: Value) -> Arc<T> {
    Arc::new(serde_json::from_value(object).unwrap())
}

fn all<T>(objects: &BTreeMap<String, Arc<T>>) -> Vec<Arc<T>> {
    objects.values().cloned().collect()
}

impl World {
    fn turn(&mut self, dice: &mut Dice) {
        let (ns, name) = (dice.of(&NAMESPACES), dice.of(&["a", "b", "c", "d", "e"]));
        let key = format!("{ns}/{name}");
        let address = IpAddr::from([10, 0, 0, u8::try_from(dice.below(9)).unwrap()]);
        match dice.below(12) {
            0..4 => drop(self.pods.insert(key, one(some_pod(dice, ns, name, address)))),
            4 => drop(self.pods.remove(&key)),
            5..8 => drop(self.policies.insert(key, one(some_policy(dice, ns, name)))),
            8 => drop(self.policies.remove(&key)),
            9 => {
                let labels = json!({"ns": dice.of(&NAMESPACES)});
                let object = json!({"metadata": {"name": ns, "labels": labels}});
                self.namespaces.insert(ns.to_owned(), one(object));
            }
            10 => drop(self.namespaces.remove(ns)),
            _ if dice.below(3) == 0 => self.places = Places::default(),
            _ => self.places.put(Key::new(ns, name), None, vec![address]),
        }
    }

    fn compiled(&self, compiler: &mut Compiler) -> Wanted {
        let (policies, pods, namespaces) = (all(&self.policies), all(&self.pods), all(&self.namespaces));
        compiler.compile(&policies, &pods, &namespaces, &self.places)
    }
}

fn some_pod(dice: &mut Dice, ns: &str, name: &str, address: IpAddr) -> Value {
    json!({
        "metadata": {"namespace": ns, "name": name, "uid": name, "labels": {"pod": dice.of(&PODS)}},
        "spec": {
            "nodeName": dice.of(&[NODE, NODE, "elsewhere"]),
            "hostNetwork": dice.below(9) == 0,
            "containers": [{"ports": [{"name": "web", "containerPort": 80 + dice.below(2)}]}],
        },
        "status": {
            "phase": dice.of(&["Running", "Running", "Running", "Failed"]),
            "podIPs": [{"ip": address}, {"ip": format!("fd00::{}", dice.below(9))}],
        },
    })
}

fn some_policy(dice: &mut Dice, ns_of_it: &str, name: &str) -> Value {
    let peer = match dice.below(4) {
        0 => json!({"podSelector": pod(dice.of(&PODS))}),
        1 => json!({"namespaceSelector": ns(dice.of(&NAMESPACES)), "podSelector": pod(dice.of(&PODS))}),
        2 => json!({"namespaceSelector": {}}),
        _ => json!({"ipBlock": {"cidr": "10.0.0.0/29"}}),
    };
    let ports = json!([{"port": "web"}, {"port": 90 + dice.below(2)}]);
    let selector = if dice.below(3) == 0 { json!({}) } else { pod(dice.of(&PODS)) };
    json!({
        "metadata": {"namespace": ns_of_it, "name": name},
        "spec": {
            "podSelector": selector,
            "policyTypes": [dice.of(&["Ingress", "Egress"])],
            "ingress": [{"from": [peer], "ports": ports}],
            "egress": [{"to": [peer], "ports": ports}],
        },
    })
}

#[test]
fn what_is_remembered_changes_nothing() {
    for seed in 0..20 {
        let (mut world, mut dice) = (World::default(), Dice(seed));
        let mut compiler = Compiler::new(NODE);
        let mut before = Wanted::default();
        let mut isolated = 0;
        for turn in 0..150 {
            world.turn(&mut dice);
            let wanted = world.compiled(&mut compiler);
            assert_eq!(wanted, world.compiled(&mut Compiler::new(NODE)), "seed {seed}, turn {turn}");
            for (name, set) in &wanted.sets {
                let Some(known) = before.sets.get(name).filter(|known| *known == set) else { continue };
                assert!(Arc::ptr_eq(known, set), "seed {seed}, turn {turn}: {name} was made again");
            }
            isolated += wanted.isolated.len();
            before = wanted;
        }
        assert!(isolated > 0, "seed {seed}: nothing was decided at all");
    }
}
