use serde_json::{Value, json};

use super::level::Queuing;
use super::*;

fn user(name: &str, groups: &[&str]) -> User {
    User {
        name: name.to_owned(),
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        ..User::default()
    }
}

fn flow(rule: Value) -> Flow {
    let flow = json!({"metadata": {"name": "f", "uid": "u"}, "spec": {"priorityLevelConfiguration": {"name": "l"}, "rules": [rule]}});
    Flow::read(flow.to_string().as_bytes()).unwrap()
}

#[test]
fn a_flow_takes_what_its_rules_say() {
    let everything = json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": true, "namespaces": ["*"]}]);
    let pods = json!([{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "pods/status"], "namespaces": ["a"]}]);
    let anyone = json!([{"kind": "Group", "group": {"name": "*"}}]);
    let ann = json!([{"kind": "User", "user": {"name": "ann"}}]);
    let robots = json!([{"kind": "ServiceAccount", "serviceAccount": {"namespace": "a", "name": "*"}}]);
    let resource =
        |resource, subresource, namespace| Target::Resource { group: "", resource, subresource, namespace };
    for (case, subjects, rules, who, verb, target, taken) in [
        ("everything", &anyone, &everything, "bob", "create", resource("nodes", "", ""), true),
        ("no paths", &anyone, &everything, "bob", "get", Target::Path("/version"), false),
        ("the user", &ann, &everything, "ann", "get", resource("pods", "", "a"), true),
        ("another user", &ann, &everything, "bob", "get", resource("pods", "", "a"), false),
        (
            "an account",
            &robots,
            &everything,
            "system:serviceaccount:a:x",
            "get",
            resource("pods", "", "a"),
            true,
        ),
        (
            "an account elsewhere",
            &robots,
            &everything,
            "system:serviceaccount:b:x",
            "get",
            resource("pods", "", "a"),
            false,
        ),
        ("the verb", &anyone, &pods, "bob", "list", resource("pods", "", "a"), true),
        ("another verb", &anyone, &pods, "bob", "watch", resource("pods", "", "a"), false),
        ("its subresource", &anyone, &pods, "bob", "get", resource("pods", "status", "a"), true),
        ("another subresource", &anyone, &pods, "bob", "get", resource("pods", "log", "a"), false),
        ("another namespace", &anyone, &pods, "bob", "get", resource("pods", "", "b"), false),
        ("all namespaces", &anyone, &pods, "bob", "list", resource("pods", "", ""), false),
    ] {
        let flow = flow(json!({"subjects": subjects, "resourceRules": rules}));
        assert_eq!(flow.takes(&user(who, &["g"]), &Asked { verb, target }), taken, "{case}");
    }
    let paths = flow(
        json!({"subjects": anyone, "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz", "/api/*"]}]}),
    );
    for (path, taken) in [("/healthz", true), ("/healthz/x", false), ("/api/v1", true), ("/apis", false)] {
        assert_eq!(
            paths.takes(&user("bob", &["g"]), &Asked { verb: "get", target: Target::Path(path) }),
            taken,
            "{path}"
        );
    }
}

fn gate(seats: usize, queuing: Option<Queuing>) -> Arc<Gate> {
    let level = Level { queuing, ..Level::rest() };
    let gate = Arc::new(Gate::new(level.clone()));
    gate.change(level, seats);
    gate
}

async fn enter(gate: &Arc<Gate>, alike: u64) -> Option<Seat> {
    match Gate::enter(gate, "f", alike) {
        Ok(Entry::Seat(seat)) => Some(seat),
        Ok(Entry::Wait(waiting)) => waiting.turn(PATIENCE).await.ok(),
        Ok(Entry::Free) | Err(_) => None,
    }
}

#[tokio::test]
async fn queues_are_served_in_turn() {
    let gate = gate(1, Some(Queuing { queues: 1024, hand_size: 1, queue_length_limit: 10 }));
    let first = enter(&gate, 0).await.unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    // A flood of one, and then two others with one request each.
    for name in [1, 1, 1, 1, 1, 1, 2, 3] {
        let (gate, order) = (gate.clone(), order.clone());
        tasks.push(tokio::spawn(async move {
            let seat = enter(&gate, name * 7919).await.unwrap();
            order.lock().push(name);
            drop(seat);
        }));
        tokio::task::yield_now().await;
    }
    assert_eq!(gate.waiting(), 8);
    drop(first);
    for task in tasks {
        task.await.unwrap();
    }
    let order = order.lock();
    let last = order.iter().rposition(|name| *name != 1).unwrap();
    assert!(last < 5, "the others need not wait until the flood is over: {order:?}");
    assert_eq!((gate.used(), gate.waiting()), (0, 0));
}

#[tokio::test]
async fn what_is_too_much_is_refused_and_who_leaves_is_forgotten() {
    let gate = gate(1, Some(Queuing { queues: 1, hand_size: 1, queue_length_limit: 2 }));
    let held = enter(&gate, 0).await.unwrap();
    let (Ok(Entry::Wait(one)), Ok(Entry::Wait(two))) =
        (Gate::enter(&gate, "f", 0), Gate::enter(&gate, "f", 0))
    else {
        panic!("two may wait")
    };
    assert!(matches!(Gate::enter(&gate, "f", 0), Err(gate::NoSeat::Full)));
    drop(one);
    assert_eq!(gate.waiting(), 1, "a client that hung up");
    drop(held);
    assert_eq!((gate.used(), gate.waiting()), (1, 0), "the turn has come for the second");
    drop(two);
    assert_eq!(gate.used(), 0, "who hung up just then");
    let none = self::gate(1, None);
    let _held = enter(&none, 0).await.unwrap();
    assert!(matches!(Gate::enter(&none, "f", 0), Err(gate::NoSeat::Full)), "a level without queues");
}

#[tokio::test]
async fn nobody_waits_for_ever() {
    let gate = gate(1, Some(Queuing::default()));
    let _held = enter(&gate, 0).await.unwrap();
    let Ok(Entry::Wait(waiting)) = Gate::enter(&gate, "f", 0) else { panic!("there is a queue") };
    assert!(matches!(waiting.turn(Duration::from_millis(1)).await, Err(gate::NoSeat::Late)));
    assert_eq!(gate.waiting(), 0);
}

#[tokio::test]
async fn idle_seats_are_lent_and_given_back() {
    let (busy, idle) = (gate(2, None), Arc::new(Gate::new(Level { name: "idle".into(), ..Level::rest() })));
    idle.change(Level { name: "idle".into(), lendable: 50, ..Level::rest() }, 4);
    let all = [busy.clone(), idle.clone()];
    all.iter().for_each(|gate| gate.meet(&all));
    let mut held = Vec::new();
    while let Some(seat) = enter(&busy, 0).await {
        held.push(seat);
    }
    assert_eq!(held.len(), 4, "its own two, and half of the other's four");
    let own: Vec<_> = futures::future::join_all((0..4).map(|_| enter(&idle, 0))).await;
    assert!(own.iter().all(Option::is_some), "the lender does not wait for what it lent");
}
