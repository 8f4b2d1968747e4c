//! What pods are told: config maps, secrets (how much, never what), service accounts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::page::Page;
use super::shown::{entries, items, text};
use super::{Given, labels_and_annotations, name_and_namespace};

pub(super) fn config_map(page: &mut Page, given: &Given<'_>) {
    let object = given.object;
    name_and_namespace(page, object);
    labels_and_annotations(page, object);
    page.line(0, "\nData\n====");
    for (key, value) in entries(&object["data"]) {
        page.line(0, format_args!("{key}:\n----\n{}\n", text(value)));
    }
    page.line(0, "\nBinaryData\n====");
    for (key, value) in entries(&object["binaryData"]) {
        page.line(0, format_args!("{key}: {} bytes", bytes(text(value)).len()));
    }
    page.line(0, "");
}

pub(super) fn secret(page: &mut Page, given: &Given<'_>) {
    let object = given.object;
    let kind = text(&object["type"]);
    name_and_namespace(page, object);
    labels_and_annotations(page, object);
    page.line(0, "");
    page.field(0, "Type", kind);
    page.line(0, "\nData\n====");
    for (key, value) in entries(&object["data"]) {
        let value = bytes(text(value));
        // A token is what this kind of secret is read for.
        if key == "token" && kind == "kubernetes.io/service-account-token" {
            page.field(0, key, String::from_utf8_lossy(&value));
        } else {
            page.field(0, key, format_args!("{} bytes", value.len()));
        }
    }
}

fn bytes(encoded: &str) -> Vec<u8> {
    // The server takes nothing else than base64.
    STANDARD.decode(encoded).unwrap_or_default()
}

pub(super) fn service_account(page: &mut Page, given: &Given<'_>) {
    name_and_namespace(page, given.object);
    labels_and_annotations(page, given.object);
    let secrets = items(&given.object["imagePullSecrets"]).iter().map(|secret| text(&secret["name"]));
    page.list(0, "Image pull secrets", secrets);
}
