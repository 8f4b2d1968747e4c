//! Query parameters: read as Kubernetes reads them, and turned into what the registry takes. Knows no objects.

use kedge_kinds::{Cause, Details, Reason, Status};
use kedge_registry::gate::Remarks;
use kedge_registry::{FieldValidation, Given, ListQuery, User, VersionMatch, WatchQuery, WriteOptions};

/// A request's parameters in their order.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(text: Option<&str>) -> Self {
        let pairs = form_urlencoded::parse(text.unwrap_or("").as_bytes());
        Self(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or("").to_owned()
    }

    pub(crate) fn all<'q>(&'q self, name: &'q str) -> impl Iterator<Item = &'q str> {
        self.0.iter().filter(move |(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// Present and not `false` or `0`: that is how Kubernetes reads a switch.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.switch(name).unwrap_or(false)
    }

    fn switch(&self, name: &str) -> Option<bool> {
        self.get(name).map(|value| !value.eq_ignore_ascii_case("false") && value != "0")
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, Status> {
        let Some(text) = self.get(name).filter(|text| !text.is_empty()) else { return Ok(None) };
        match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"))),
        }
    }

    pub(crate) fn list(&self) -> Result<ListQuery, Status> {
        if self.get("sendInitialEvents").is_some() {
            return Err(self.initial_events_in_a_list());
        }
        let limit = self.number("limit")?.filter(|limit| *limit > 0);
        Ok(ListQuery {
            labels: self.text("labelSelector"),
            fields: self.text("fieldSelector"),
            limit: limit.and_then(|limit| usize::try_from(limit).ok()),
            continue_token: self.text("continue"),
            resource_version: self.text("resourceVersion"),
            version_match: self.version_match()?,
        })
    }

    pub(crate) fn watch(&self) -> Result<WatchQuery, Status> {
        Ok(WatchQuery {
            labels: self.text("labelSelector"),
            fields: self.text("fieldSelector"),
            resource_version: self.text("resourceVersion"),
            version_match: self.version_match()?,
            send_initial_events: self.switch("sendInitialEvents"),
            bookmarks: self.flag("allowWatchBookmarks"),
        })
    }

    fn initial_events_in_a_list(&self) -> Status {
        let forbidden = |field: &str, why: &str| Cause {
            reason: "FieldValueForbidden".to_owned(),
            message: format!("Forbidden: {why}"),
            field: field.to_owned(),
        };
        let mut causes = Vec::new();
        let (version, matched) = (self.text("resourceVersion"), self.text("resourceVersionMatch"));
        if version.is_empty() && !matched.is_empty() {
            let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            causes.push(forbidden("resourceVersionMatch", why));
        }
        causes.push(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
        invalid("ListOptions", causes)
    }

    fn version_match(&self) -> Result<Option<VersionMatch>, Status> {
        match self.get("resourceVersionMatch").unwrap_or("") {
            "" => Ok(None),
            "Exact" => Ok(Some(VersionMatch::Exact)),
            "NotOlderThan" => Ok(Some(VersionMatch::NotOlderThan)),
            other => {
                let supported = "\"Exact\", \"NotOlderThan\", \"\"";
                Err(invalid("ListOptions", vec![not_supported("resourceVersionMatch", other, supported)]))
            }
        }
    }

    /// What goes with a write; `options` is the name of Kubernetes' type for it, which its messages carry.
    pub(crate) fn write(&self, options: &str, user: &User, agent: &str) -> Result<WriteOptions, Status> {
        let mut causes = Vec::new();
        let dry_run = self.dry_run(&mut causes);
        let asked = self.get("fieldManager").unwrap_or("");
        if asked.chars().count() > MANAGER_LENGTH {
            causes.push(Cause {
                reason: "FieldValueTooLong".to_owned(),
                message: format!("Too long: may not be more than {MANAGER_LENGTH} bytes"),
                field: "fieldManager".to_owned(),
            });
        }
        if asked.chars().any(|character| character.is_control()) {
            causes.push(Cause {
                reason: "FieldValueInvalid".to_owned(),
                message: format!("Invalid value: {asked:?}: should only contain printable characters"),
                field: "fieldManager".to_owned(),
            });
        }
        let validation = match self.get("fieldValidation").unwrap_or("") {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            other => {
                causes.push(not_supported(
                    "fieldValidation",
                    other,
                    "\"\", \"Ignore\", \"Strict\", \"Warn\"",
                ));
                FieldValidation::Warn
            }
        };
        if !causes.is_empty() {
            return Err(invalid(options, causes));
        }
        Ok(WriteOptions {
            dry_run,
            manager: if asked.is_empty() { manager_of(agent) } else { asked.to_owned() },
            validation,
            given: Given {
                manager: !asked.is_empty(),
                validation: self.get("fieldValidation").is_some_and(|asked| !asked.is_empty()),
            },
            user: user.clone(),
            duplicates: Vec::new(),
            body: None,
            judge: None,
            remarks: Remarks::default(),
        })
    }

    fn dry_run(&self, causes: &mut Vec<Cause>) -> bool {
        let asked: Vec<&str> = self.all("dryRun").filter(|value| !value.is_empty()).collect();
        if asked.iter().any(|value| *value != "All") {
            causes.push(dry_run_not_supported(&asked));
        }
        !asked.is_empty()
    }
}

const MANAGER_LENGTH: usize = 128;

/// Who a client without `fieldManager` is: its user agent up to the first `/`.
fn manager_of(agent: &str) -> String {
    let name = agent.split('/').next().unwrap_or("");
    name.chars().filter(|character| !character.is_control()).take(MANAGER_LENGTH).collect()
}

/// Kubernetes quotes all values that were given, not just the wrong one.
pub(crate) fn dry_run_not_supported(asked: &[&str]) -> Cause {
    Cause {
        reason: "FieldValueNotSupported".to_owned(),
        message: format!("Unsupported value: {}: supported values: \"All\"", serde_json::json!(asked)),
        field: "dryRun".to_owned(),
    }
}

pub(crate) fn not_supported(field: &str, value: &str, supported: &str) -> Cause {
    Cause {
        reason: "FieldValueNotSupported".to_owned(),
        message: format!("Unsupported value: {value:?}: supported values: {supported}"),
        field: field.to_owned(),
    }
}

/// 422 for bad parameters: `PatchOptions.meta.k8s.io "" is invalid: …`.
pub(crate) fn invalid(options: &str, causes: Vec<Cause>) -> Status {
    let listed: Vec<String> =
        causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
    let list = if listed.len() == 1 { listed.concat() } else { format!("[{}]", listed.join(", ")) };
    let message = format!("{options}.meta.k8s.io \"\" is invalid: {list}");
    Status::new(422, Reason::Invalid, message).with(Details {
        group: "meta.k8s.io".to_owned(),
        kind: options.to_owned(),
        causes,
        ..Details::default()
    })
}

#[cfg(test)]
mod tests;
