//! Makes a table of routes of Ingresses, DNSRecords, Services and their endpoints. Who came first has a host or a path.

use std::collections::HashMap;
use std::sync::Arc;

use k8s_openapi::api::networking::v1::{HTTPIngressPath, Ingress, IngressBackend, IngressClass};
use kedge_client::{Cache, Key, NotReady, World};
use kedge_facts::{Service, Slice};
use kube::ResourceExt;

use super::{Backend, Named, Routes, Target, To, backend};
use crate::certificates::Certificates;
use crate::claims::{self, Claims};
use crate::class;
use crate::record::DnsRecord;
use crate::secret::TlsSecret;

const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// Asks for HTTPS: whoever calls in the clear is sent there.
pub(crate) const HTTPS_REDIRECT: &str = "kedge.dev/https-redirect";

impl Routes {
    /// Watches what tables are made of.
    pub fn watch(world: &World) {
        wanted(world);
        world.watch::<TlsSecret>();
    }

    /// The table of this moment. What the table before it had read of certificates is not read again.
    pub fn of(world: &World, before: Option<&Routes>) -> Result<Self, NotReady> {
        let ingresses = class::ours(world)?;
        let mut records = world.cache::<DnsRecord>()?.all();
        records.sort_by_cached_key(|record| claims::age(&**record));
        let claims = Claims::among(&ingresses, &records);
        let mut making = Making {
            routes: Routes::default(),
            services: world.cache()?,
            slices: world.cache()?,
            backends: HashMap::new(),
        };
        for record in &records {
            if claims.against_record(record).is_none() {
                making.record(record);
            }
        }
        for ingress in &ingresses {
            making.ingress(ingress, &claims);
        }
        let mut routes = making.routes;
        let known = before.map(|before| &before.certificates);
        let secrets = world.cache::<TlsSecret>()?;
        (routes.certificates, routes.secrets) = Certificates::of(&ingresses, &secrets, known);
        Ok(routes)
    }
}

/// Watches what decides where requests go, certificates aside.
pub(crate) fn wanted(world: &World) {
    world.watch::<Ingress>().watch::<IngressClass>().watch::<DnsRecord>().watch::<Service>().watch::<Slice>();
}

struct Making {
    routes: Routes,
    services: Arc<Cache<Service>>,
    slices: Arc<Cache<Slice>>,
    backends: HashMap<(Key, Named), Arc<Backend>>,
}

impl Making {
    fn record(&mut self, record: &DnsRecord) {
        let namespace = record.namespace().unwrap_or_default();
        for path in &record.spec.paths {
            let prefix = format!("/{}", path.path_name);
            let key = Key::new(namespace.clone(), path.service.clone());
            let to = To::Service(self.backend(key, Named::Number(path.port)));
            let target = Target { to, strip: prefix.len(), is_https_only: false };
            self.routes.site(&record.spec.host).add_prefix(&prefix, Arc::new(target));
        }
    }

    fn ingress(&mut self, ingress: &Ingress, claims: &Claims) {
        let Some(spec) = &ingress.spec else { return };
        let namespace = ingress.namespace().unwrap_or_default();
        let is_https_only = ingress.annotations().get(HTTPS_REDIRECT).is_some_and(|asks| asks == "true");
        let default = spec.default_backend.as_ref();
        let default = default.map(|to| self.target(&namespace, to, is_https_only));
        let rules = spec.rules.as_deref().unwrap_or_default();
        for rule in rules {
            let host = rule.host.as_deref().unwrap_or_default();
            if claims.against_ingress(host).is_some() {
                continue;
            }
            for path in rule.http.iter().flat_map(|http| &http.paths) {
                let target = self.target(&namespace, &path.backend, is_https_only);
                self.path(host, path, target);
            }
            let site = self.routes.site(host);
            if let Some(default) = &default {
                site.add_default(default.clone());
            }
        }
        if let (Some(default), true) = (default, rules.is_empty()) {
            self.routes.default.get_or_insert(default);
        }
    }

    fn path(&mut self, host: &str, path: &HTTPIngressPath, target: Arc<Target>) {
        let site = self.routes.site(host);
        let at = path.path.as_deref().filter(|path| !path.is_empty()).unwrap_or("/");
        match &*path.path_type {
            "Exact" => site.add_exact(at, target),
            _ => site.add_prefix(at, target),
        };
    }

    fn target(&mut self, namespace: &str, to: &IngressBackend, is_https_only: bool) -> Arc<Target> {
        let to = match (&to.service, &to.resource) {
            (Some(service), _) => {
                let port = service.port.as_ref();
                let named = port.and_then(|port| port.name.clone()).filter(|name| !name.is_empty());
                let number = port.and_then(|port| port.number).and_then(|number| u16::try_from(number).ok());
                let port = named.map_or(Named::Number(number.unwrap_or_default()), Named::Name);
                To::Service(self.backend(Key::new(namespace, service.name.clone()), port))
            }
            (None, resource) => To::Resource(resource.as_ref().map_or_else(
                || "nothing".to_owned(),
                |resource| format!("{} {namespace}/{}", resource.kind, resource.name),
            )),
        };
        Arc::new(Target { to, strip: 0, is_https_only })
    }

    fn backend(&mut self, key: Key, port: Named) -> Arc<Backend> {
        let found = self.backends.entry((key, port));
        let made = found.or_insert_with_key(|(key, port)| {
            Arc::new(of_service(&self.services, &self.slices, key.clone(), port.clone()))
        });
        self.routes.services.insert(made.service.clone());
        made.clone()
    }
}

pub(crate) fn of_service(services: &Cache<Service>, slices: &Cache<Slice>, key: Key, port: Named) -> Backend {
    let labels = [(SERVICE_NAME.to_owned(), key.name.clone())].into();
    let slices = slices.labelled(&key.namespace, &labels);
    let service = services.get(&key);
    backend(key, port, service.as_deref(), &slices)
}
