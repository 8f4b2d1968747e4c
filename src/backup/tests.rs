use std::os::unix::fs::PermissionsExt as _;

use kedge_store::{Draft, Expect, Txn};

use super::*;

/// A data folder with one object, keys and, if asked for, encrypted Secrets.
async fn filled(data: &Path, sealed: bool) -> Store {
    fs::create_dir_all(data.join("pki/front-proxy")).unwrap();
    fs::write(data.join("pki/ca.key"), "the authority's").unwrap();
    fs::write(data.join("pki/front-proxy/ca.key"), "another").unwrap();
    fs::write(data.join("node-token"), "kedge1…").unwrap();
    let seal = secrets::seal(data, sealed).unwrap();
    let options = kedge_store::Options { seal, ..kedge_store::Options::default() };
    let store = Store::open(&data.join(STORE), options).await.unwrap();
    let put = Txn::new().put(
        "/registry/secrets/default/a",
        Expect::Absent,
        Draft::new(b"{\"password\":1}".to_vec()),
    );
    store.commit(put).await.unwrap();
    store
}

async fn opened(data: &Path) -> Store {
    let seal = secrets::seal(data, false).unwrap();
    Store::open(&data.join(STORE), kedge_store::Options { seal, ..kedge_store::Options::default() })
        .await
        .unwrap()
}

#[tokio::test]
async fn a_running_store_moves_to_another_machine() {
    for sealed in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let [here, there] = ["here", "there"].map(|name| folder.path().join(name));
        let file = folder.path().join("cluster.tar.gz");
        let store = filled(&here, sealed).await;
        let made = write(Some(&store), &here, &file, Part::All).await.unwrap();
        assert_eq!(made.objects, 1);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing half is left beside it");

        let restored = restore(&file, &there, false, false).await.unwrap();
        assert_eq!(restored, made);
        for key in ["pki/ca.key", "pki/front-proxy/ca.key", "node-token"] {
            assert_eq!(fs::read(here.join(key)).unwrap(), fs::read(there.join(key)).unwrap(), "{key}");
            assert_eq!(fs::metadata(there.join(key)).unwrap().permissions().mode() & 0o777, 0o600, "{key}");
        }
        let moved = opened(&there).await;
        let snapshot = moved.snapshot();
        let kept: Vec<_> = snapshot
            .range("", None)
            .map(|(key, entry)| (key.as_str().to_owned(), entry.bytes().to_vec()))
            .collect();
        assert_eq!(kept, [("/registry/secrets/default/a".to_owned(), b"{\"password\":1}".to_vec())]);
        assert!(!there.join(PARTIAL).exists());
    }
}

#[tokio::test]
async fn nothing_is_overwritten_but_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let [here, there] = ["here", "there"].map(|name| folder.path().join(name));
    let file = folder.path().join("cluster.tar.gz");
    write(Some(&filled(&here, false).await), &here, &file, Part::All).await.unwrap();
    fs::create_dir_all(there.join("pki")).unwrap();
    fs::write(there.join("pki/ca.key"), "of the other cluster").unwrap();

    let refused = restore(&file, &there, false, false).await.unwrap_err();
    assert!(matches!(refused, BackupError::NotEmpty { found: "pki", .. }), "{refused}");
    assert_eq!(fs::read(there.join("pki/ca.key")).unwrap(), b"of the other cluster");

    restore(&file, &there, false, true).await.unwrap();
    assert_eq!(fs::read(there.join("pki/ca.key")).unwrap(), b"the authority's");
    let aside = fs::read_dir(&there)
        .unwrap()
        .flatten()
        .find(|entry| entry.file_name().to_string_lossy().starts_with("before-restore-"));
    assert_eq!(fs::read(aside.unwrap().path().join("pki/ca.key")).unwrap(), b"of the other cluster");
}

#[tokio::test]
async fn keys_alone_make_a_further_server_of_the_same_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let [here, there] = ["here", "there"].map(|name| folder.path().join(name));
    let file = folder.path().join("keys.tar.gz");
    filled(&here, false).await.close().await;
    let made = write_stopped(&here, &file, Part::Keys).await.unwrap();
    assert_eq!((made.part, made.objects), (Part::Keys, 0));
    let refused = restore(&file, &there, false, false).await.unwrap_err();
    assert!(matches!(refused, BackupError::KeysOnly { .. }), "{refused}");
    restore(&file, &there, true, false).await.unwrap();
    assert!(there.join("pki/ca.key").exists() && !there.join(STORE).exists());
}

#[tokio::test]
async fn what_is_no_backup_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let [here, there] = ["here", "there"].map(|name| folder.path().join(name));
    let file = folder.path().join("cluster.tar.gz");
    let store = filled(&here, false).await;
    write(Some(&store), &here, &file, Part::All).await.unwrap();
    let whole = fs::read(&file).unwrap();
    let foreign = folder.path().join("foreign.tar.gz");
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut header = tar::Header::new_gnu();
    header.set_size(1);
    archive.append_data(&mut header, "etc/passwd", &b"x"[..]).unwrap();
    let strange = archive.into_inner().unwrap().finish().unwrap();
    for (case, content) in [
        ("empty", Vec::new()),
        ("text", b"apiVersion: v1\n".to_vec()),
        ("cut short", whole[..whole.len() / 2].to_vec()),
        ("without its end", whole[..whole.len() - 4].to_vec()),
        ("something else", strange),
    ] {
        fs::write(&foreign, content).unwrap();
        let refused = restore(&foreign, &there, false, true).await.unwrap_err();
        assert!(matches!(refused, BackupError::NoBackup { .. }), "{case}: {refused:?}");
        assert!(!there.join("pki").exists() && !there.join(STORE).exists(), "{case}");
    }
    let missing = restore(&folder.path().join("nowhere"), &there, false, false).await.unwrap_err();
    assert!(matches!(missing, BackupError::Read { .. }), "{missing}");
}

#[test]
fn nothing_leads_out_of_the_folder() {
    for (path, fine) in [
        ("pki/ca.key", true),
        ("pki", true),
        (ABOUT, true),
        ("../pki/ca.key", false),
        ("pki/../../x", false),
        ("/pki/ca.key", false),
        ("store/log", false),
        ("", false),
    ] {
        assert_eq!(known(Path::new(path)).is_some(), fine, "{path}");
    }
}

#[tokio::test]
async fn objects_and_keys_can_be_kept_apart() {
    let folder = tempfile::tempdir().unwrap();
    let [here, there] = ["here", "there"].map(|name| folder.path().join(name));
    let [keys, objects] = ["keys", "objects"].map(|name| folder.path().join(name));
    filled(&here, true).await.close().await;
    write_stopped(&here, &keys, Part::Keys).await.unwrap();
    write_stopped(&here, &objects, Part::Objects).await.unwrap();
    let refused = restore(&objects, &there, true, false).await.unwrap_err();
    assert!(matches!(refused, BackupError::NoKeys { .. }), "{refused}");
    let sealed = restore(&objects, &there, false, false).await.unwrap_err();
    assert!(matches!(sealed, BackupError::Store(_)), "without its key nobody reads it: {sealed}");
    restore(&keys, &there, true, false).await.unwrap();
    restore(&objects, &there, false, false).await.unwrap();
    assert_eq!(opened(&there).await.snapshot().len(), 1);
}
