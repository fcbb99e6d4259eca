//! Keeps to what a site asks of programs: `robots.txt` as RFC 9309 has it, before a page is fetched that nobody named.

mod rules;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use agent::identity::Timestamp;
use agent::ports::{Clock, Fetched, Later, Pages, PortError};
use agent::research::call::Freshness;
use reqwest::header::HeaderMap;
use serde::{Deserialize, Serialize};
use url::Url;

use self::rules::Rules;
use crate::cache::Cache;
use crate::guard::{EgressGuard, Limits};

/// Longest `robots.txt` that is read: the least that the standard asks for.
const ROBOTS_BYTES_MAX: usize = 512 * 1024;

/// How long its rules hold, in milliseconds: a day at most.
const RULES_MILLIS_MAX: u64 = 24 * 3_600 * 1_000;

/// After a site did not answer, when it is asked again, in milliseconds.
const SILENCE_MILLIS: u64 = 10 * 60 * 1_000;

/// Sites whose rules are known at a time.
const SITES_MAX: usize = 1_000;

/// How long a page is used again, in seconds.
const PAGE_SECONDS_MAX: u64 = 24 * 3_600;

/// Pages for research: those that their site lets programs read, remembered for a while.
pub struct PolitePages {
    pages: Arc<dyn Pages>,
    guard: Arc<EgressGuard>,
    clock: Arc<dyn Clock>,
    cache: Option<Cache>,
    sites: Mutex<BTreeMap<String, (Timestamp, Arc<Rules>)>>,
}

/// A page as it is remembered; its bytes follow.
#[derive(Serialize, Deserialize)]
struct Head {
    address: String,
    media_type: Option<String>,
}

impl PolitePages {
    #[must_use]
    pub fn new(
        pages: Arc<dyn Pages>,
        guard: Arc<EgressGuard>,
        clock: Arc<dyn Clock>,
        cache: Option<Cache>,
    ) -> Self {
        Self { pages, guard, clock, cache, sites: Mutex::default() }
    }

    async fn open(&self, address: &str, freshness: Freshness) -> Result<Fetched, PortError> {
        let key = format!("page\n{address}");
        if freshness == Freshness::MayBeRemembered
            && let Some(known) = self.known(&key).await
        {
            return Ok(known);
        }
        if let Ok(url) = Url::parse(address) {
            self.ask_leave(&url).await?;
        }
        let fetched = self.pages.fetch(address).await?;
        self.remember(&key, &fetched).await;
        Ok(fetched)
    }

    async fn ask_leave(&self, url: &Url) -> Result<(), PortError> {
        let rules = self.rules(url).await;
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        if rules.allow(&path) {
            return Ok(());
        }
        let site = url.host_str().unwrap_or_default();
        Err(PortError::Refused(format!("{site} asks programs not to read this page (robots.txt)")))
    }

    async fn rules(&self, url: &Url) -> Arc<Rules> {
        let site = url.origin().ascii_serialization();
        let now = self.clock.now();
        let known = {
            let sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
            sites.get(&site).filter(|(until, _)| now < *until).map(|(_, rules)| Arc::clone(rules))
        };
        if let Some(rules) = known {
            return rules;
        }
        let (rules, millis) = self.ask(&site).await;
        let rules = Arc::new(rules);
        let mut sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        sites.retain(|_, (until, _)| now < *until);
        if sites.len() < SITES_MAX {
            sites.insert(site, (Timestamp(now.0.saturating_add(millis)), Arc::clone(&rules)));
        }
        rules
    }

    /// What a site asks for, and for how long that holds. A site that has no rules allows everything, one that does not answer
    /// nothing.
    async fn ask(&self, site: &str) -> (Rules, u64) {
        let limits = Limits { bytes_max: ROBOTS_BYTES_MAX, ..self.guard.limits() };
        let reply = self.guard.get(&format!("{site}/robots.txt"), &HeaderMap::new(), &limits).await;
        match reply {
            Ok(reply) => match reply.status.as_u16() {
                200..=299 => {
                    (Rules::read(&String::from_utf8_lossy(&reply.bytes)), RULES_MILLIS_MAX)
                }
                429 | 500..=599 => (Rules::nothing(), SILENCE_MILLIS),
                _ => (Rules::everything(), RULES_MILLIS_MAX),
            },
            Err(_) => (Rules::nothing(), SILENCE_MILLIS),
        }
    }

    async fn known(&self, key: &str) -> Option<Fetched> {
        let kept = self.cache.as_ref()?.get(key, self.clock.now()).await?;
        let end = kept.iter().position(|byte| *byte == b'\n')?;
        let (head, bytes) = kept.split_at_checked(end)?;
        let Head { address, media_type } = serde_json::from_slice(head).ok()?;
        Some(Fetched { address, media_type, bytes: bytes.get(1..)?.to_vec() })
    }

    async fn remember(&self, key: &str, fetched: &Fetched) {
        let Some(cache) = &self.cache else { return };
        let head =
            Head { address: fetched.address.clone(), media_type: fetched.media_type.clone() };
        if let Ok(head) = serde_json::to_vec(&head) {
            let kept = [&head[..], b"\n", &fetched.bytes[..]].concat();
            cache.put(key, self.clock.now(), PAGE_SECONDS_MAX, &kept).await;
        }
    }
}

impl Pages for PolitePages {
    fn fetch<'a>(&'a self, address: &'a str) -> Later<'a, Fetched> {
        Box::pin(self.open(address, Freshness::MayBeRemembered))
    }

    fn fetch_anew<'a>(&'a self, address: &'a str) -> Later<'a, Fetched> {
        Box::pin(self.open(address, Freshness::MustBeFresh))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::addresses::Network;
    use crate::guard::EgressRules;
    use crate::loopback::{Server, ok, with_headers};
    use crate::pages::WebPages;

    struct Still(AtomicU64);

    impl Clock for Still {
        fn now(&self) -> Timestamp {
            Timestamp(self.0.load(Ordering::SeqCst))
        }
    }

    fn pages(server: &Server, clock: &Arc<Still>) -> PolitePages {
        let loopback: Network = "127.0.0.0/8".parse().unwrap();
        let rules = EgressRules {
            allow_private: vec![loopback],
            ports: vec![server.port()],
            ..EgressRules::default()
        };
        let guard = Arc::new(EgressGuard::new(rules));
        let pages = Arc::new(WebPages::new(Arc::clone(&guard)));
        PolitePages::new(pages, guard, Arc::clone(clock) as _, None)
    }

    #[tokio::test]
    async fn what_a_site_keeps_from_programs_is_not_fetched_and_its_rules_are_asked_for_once() {
        let server = Server::start(|head| {
            if head.starts_with("get /robots.txt") {
                ok("text/plain", b"User-agent: *\nDisallow: /private\n")
            } else {
                ok("text/html", b"<p>a page</p>")
            }
        })
        .await;
        let clock = Arc::new(Still(AtomicU64::new(0)));
        let pages = pages(&server, &clock);
        assert!(pages.fetch(&server.url("/open")).await.is_ok());
        let refused = pages.fetch(&server.url("/private/a?b=1")).await.unwrap_err();
        assert!(refused.to_string().contains("robots.txt"), "{refused}");
        assert!(pages.fetch(&server.url("/open/2")).await.is_ok());
        let asked = |what: &str| server.heads().iter().filter(|it| it.starts_with(what)).count();
        assert_eq!((asked("get /robots.txt"), asked("get /private")), (1, 0));
        clock.0.store(RULES_MILLIS_MAX, Ordering::SeqCst);
        assert!(pages.fetch(&server.url("/open")).await.is_ok());
        assert_eq!(asked("get /robots.txt"), 2);
    }

    #[tokio::test]
    async fn a_site_without_rules_is_read_and_one_in_trouble_is_not() {
        for (status, is_read) in [("404 Not Found", true), ("503 Busy", false)] {
            let server = Server::start(move |head| {
                if head.starts_with("get /robots.txt") {
                    with_headers(status, &[], b"")
                } else {
                    ok("text/html", b"<p>a page</p>")
                }
            })
            .await;
            let clock = Arc::new(Still(AtomicU64::new(0)));
            let fetched = pages(&server, &clock).fetch(&server.url("/open")).await;
            assert_eq!(fetched.is_ok(), is_read, "{status}");
        }
    }

    #[tokio::test]
    async fn a_page_is_fetched_once_while_it_is_remembered() {
        let server = Server::start(|head| {
            if head.starts_with("get /robots.txt") {
                with_headers("404 Not Found", &[], b"")
            } else {
                ok("text/html", b"<p>a\npage</p>")
            }
        })
        .await;
        let folder = std::env::temp_dir().join(format!("saem-pages-{}", std::process::id()));
        let clock = Arc::new(Still(AtomicU64::new(0)));
        let mut pages = pages(&server, &clock);
        pages.cache = Cache::open(&folder, Timestamp(0));
        let address = server.url("/open");
        let first = pages.fetch(&address).await.unwrap();
        assert_eq!(pages.fetch(&address).await.unwrap(), first);
        assert_eq!(server.heads().len(), 2);
        assert_eq!(pages.fetch_anew(&address).await.unwrap(), first);
        assert_eq!(server.heads().len(), 3, "what is remembered was passed by");
        clock.0.store(PAGE_SECONDS_MAX * 1_000, Ordering::SeqCst);
        pages.fetch(&address).await.unwrap();
        assert!(server.heads().len() > 3);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
