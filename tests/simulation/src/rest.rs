//! Nothing goes wrong any more: the cluster gets time and help until nobody has anything left to do.

use std::time::Duration;

use crate::gate::Fate;
use crate::kinds::Head;
use crate::play::Play;

/// More turns than any of these histories needs; whoever needs more goes in circles.
const MANY: usize = 3_000;
/// After so long everything that waits for a time has had it.
const LONG: Duration = Duration::from_secs(3_600);

/// What keeps it from coming to rest, if anything does.
pub(crate) async fn come_to_rest(play: &mut Play) -> Vec<String> {
    play.history.note("-- from here on nothing goes wrong --");
    play.lay_ghosts();
    play.kubelets.all_speak();
    if play.people.is_refused(&play.api.store.snapshot())
        && let Some(wrong) = endure(play).await
    {
        return vec![wrong];
    }
    play.people.calm_down(&play.api.store.snapshot(), &play.load).await;
    play.advance(Duration::from_secs(1), true).await;
    let mut turns = 0;
    let mut waited = Duration::ZERO;
    let mut step = Duration::from_secs(1);
    loop {
        let (busy, begun) = work(play).await;
        turns += begun;
        if turns > MANY {
            return vec![format!("it does not come to rest: {turns} turns, and there is more to do")];
        }
        if busy {
            continue;
        }
        if waited >= LONG {
            return Vec::new();
        }
        waited += step;
        play.advance(step, true).await;
        hear_all(play).await;
        step *= 2;
    }
}

/// Whoever is refused something tries again seldom, for as long as it takes.
async fn endure(play: &mut Play) -> Option<String> {
    play.history.note("-- what is refused stays refused for a while --");
    let mut turns = 0;
    for seconds in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512] {
        play.advance(Duration::from_secs(seconds), true).await;
        while turns <= MANY {
            let (busy, begun) = work(play).await;
            turns += begun;
            if !busy {
                break;
            }
        }
    }
    (turns > MANY).then(|| format!("whoever is refused something never rests: {turns} turns"))
}

/// Everybody does what they have to do now; whether that was anything, and how many turns it took.
async fn work(play: &mut Play) -> (bool, usize) {
    let before = play.api.store.revision();
    let mut begun = 0;
    hear_all(play).await;
    loop {
        let now = play.clock.now();
        let mut more = false;
        for desk in 0..play.brain.desks.len() {
            if let Some(told) = play.brain.begin(desk, now) {
                play.history.note(told);
                begun += 1;
                more = true;
                finish(play).await;
            }
        }
        if !more || begun > MANY {
            break;
        }
    }
    let due = play.kubelets.due(play.clock.now(), &play.api.store.snapshot());
    for (pod, step) in due {
        let told = play.kubelets.act(&pod, step).await;
        play.history.note(told);
    }
    play.park().await;
    (play.api.store.revision() != before || begun > 0, begun)
}

async fn hear_all(play: &mut Play) {
    play.park().await;
    loop {
        let lagging = play.brain.lagging();
        if lagging.is_empty() {
            break;
        }
        lagging.into_iter().for_each(|feed| play.brain.hear(feed));
    }
    play.park().await;
}

/// Lets the turns that are under way do what they want.
async fn finish(play: &mut Play) {
    play.park().await;
    while play.brain.turns() > 0 {
        while let Some(asked) = play.brain.gate.take(0) {
            if asked.is_write() {
                play.history.note(format!("  {} {}", asked.method, asked.path));
                play.history.writes += usize::from(!asked.is_event());
            }
            asked.meets(Fate::Pass);
        }
        hear_all(play).await;
    }
}

/// Whoever looks at everything once more finds nothing to do.
pub(crate) async fn one_more_turn(play: &mut Play) -> Vec<String> {
    play.history.note("-- one more turn of everybody --");
    let store = play.api.store.snapshot();
    let all = store.range("/registry/", None).filter_map(|(_, entry)| Head::of(entry.bytes()));
    play.brain.wake_all(all.filter_map(|head| head.metadata.uid).collect());
    let mut wrong = Vec::new();
    let now = play.clock.now();
    for desk in 0..play.brain.desks.len() {
        while let Some(told) = play.brain.begin(desk, now) {
            let at = play.history.writes;
            play.history.note(&told);
            finish(play).await;
            // Who is asked again why something waits may say it again.
            if play.history.writes != at {
                wrong.push(format!("{told} and writes, although nothing is left to do"));
            }
            if wrong.len() > 5 {
                return wrong;
            }
        }
    }
    wrong
}
