use super::*;

fn ring(places: &[&str]) -> Keyring {
    let mut ring = Keyring::default();
    for place in places {
        let credentials = Credentials { username: (*place).to_owned(), password: "p".to_owned() };
        ring.add(place, credentials);
    }
    ring
}

#[test]
fn a_place_is_found_by_the_images_name() {
    for (places, repository, found) in [
        (&["r.io"][..], "r.io/app", "r.io"),
        (&["r.io"], "other.io/app", ""),
        (&["https://r.io/v2/"], "r.io/app", "https://r.io/v2/"),
        (&["r.io/v1/team"], "r.io/team/app", "r.io/v1/team"),
        (&["r.io", "r.io/team"], "r.io/team/app", "r.io/team r.io"),
        (&["r.io/team"], "r.io/other/app", ""),
        (&["*.r.io"], "eu.r.io/app", "*.r.io"),
        (&["*.r.io"], "r.io/app", ""),
        (&["*.r.io"], "a.b.r.io/app", ""),
        (&["pre*.r?.io"], "prefix.rx.io/app", "pre*.r?.io"),
        (&["r.io:5000"], "r.io:5000/app", "r.io:5000"),
        (&["r.io"], "r.io:5000/app", ""),
        (&["https://index.docker.io/v1/"], "docker.io/library/app", "https://index.docker.io/v1/"),
        (&["https://index.docker.io/v1/"], "r.io/app", ""),
        (&["docker.io", "index.docker.io"], "docker.io/library/app", "docker.io"),
    ] {
        let ring = ring(places);
        let names: Vec<_> = ring.find(repository).iter().map(|found| found.username.clone()).collect();
        assert_eq!(names.join(" "), found, "{places:?} {repository}");
    }
}

#[test]
fn both_forms_are_read() {
    let mut ring = Keyring::default();
    let auth = STANDARD.encode("me:a:b");
    ring.add_config(format!(r#"{{"auths":{{"a.io":{{"auth":"{auth}"}}}}}}"#).as_bytes()).unwrap();
    ring.add_old_config(br#"{"b.io":{"username":"you","password":"x","email":"e"}}"#).unwrap();
    let of =
        |place: &str| ring.find(place).first().map(|found| (found.username.clone(), found.password.clone()));
    assert_eq!(of("a.io/app"), Some(("me".to_owned(), "a:b".to_owned())));
    assert_eq!(of("b.io/app"), Some(("you".to_owned(), "x".to_owned())));
    assert!(matches!(ring.add_config(b"{"), Err(KeyringError::Document(_))));
    assert!(matches!(
        ring.add_config(br#"{"auths":{"c.io":{"auth":"???"}}}"#),
        Err(KeyringError::Auth { .. })
    ));
}
