//! The research agent: searches at once within a limit, pages read, and what was found put in order.

use std::collections::BTreeMap;

use super::asking::{Pending, Task};
use super::{Phase, Run};
use crate::research::call::Call;
use crate::research::message::{
    AdditionalSearchRequest, Moment, Party, ProviderId, SearchProgress, SearchResults, Share,
    SourceRead,
};
use crate::research::order::{Class, Provider};
use crate::research::source::{Hit, Source};
use crate::text::clip;

/// Longest query, in bytes.
const QUERY_BYTES_MAX: usize = 600;

/// One search of a round.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Work {
    pub(super) step: u32,
    pub(super) provider: ProviderId,
    pub(super) query: String,
    /// None until it is done. They are put together when all are: the order of the answers does not count.
    hits: Option<Vec<Hit>>,
}

impl Run {
    /// Adds a search, unless it was made before.
    pub(super) fn add_work(
        &self,
        work: &mut Vec<Work>,
        step: u32,
        provider: &ProviderId,
        query: &str,
    ) {
        let query = clip(query.trim(), QUERY_BYTES_MAX).to_owned();
        let is_same = |it: &Work| it.provider == *provider && normal(&it.query) == normal(&query);
        let was_asked = self.asked.contains_key(&(provider.clone(), normal(&query)));
        if !query.is_empty() && !was_asked && !work.iter().any(is_same) {
            work.push(Work { step, provider: provider.clone(), query, hits: None });
        }
    }

    pub(super) fn start_round(&mut self) {
        self.phase = Phase::Researching;
        self.round += 1;
        self.round_started = self.now;
        self.work = std::mem::take(&mut self.next_work);
        if self.round > 1 {
            self.tell_more();
        }
        for place in 0..self.work.len() {
            self.search(place);
        }
        self.go_on_searching();
    }

    /// Says what the judge wants besides.
    fn tell_more(&mut self) {
        let Some(reason) = self.assessed.as_mut().and_then(|assessed| assessed.wants.take()) else {
            return;
        };
        let mut keywords: Vec<String> = self.work.iter().map(|work| work.query.clone()).collect();
        keywords.dedup();
        let mut sources: Vec<ProviderId> =
            self.work.iter().map(|work| work.provider.clone()).collect();
        sources.sort_unstable();
        sources.dedup();
        let max_results = self.order.limits.results_per_search_max;
        self.say(
            Party::Reflect,
            AdditionalSearchRequest { reason, keywords, sources, max_results },
        );
    }

    fn search(&mut self, place: usize) {
        let Some(work) = self.work.get(place).cloned() else { return };
        self.asked.insert((work.provider.clone(), normal(&work.query)), work.step);
        let name = format!("search.{}.{place}.{}", self.round, work.provider);
        let results_max = self.order.limits.results_per_search_max;
        let is_allowed = self.allowed.contains(&work.provider);
        let freshness = self.freshness(&[work.step]);
        let (provider, query) = (work.provider, work.query);
        let call = Call::Search { provider, query, results_max, is_allowed, freshness };
        self.want(name, call, Task::Search { work: place });
    }

    pub(super) fn found(&mut self, place: usize, mut hits: Vec<Hit>) {
        let most = usize::try_from(self.order.limits.results_per_search_max).unwrap_or(usize::MAX);
        hits.truncate(most);
        self.done(place, hits);
    }

    fn done(&mut self, place: usize, hits: Vec<Hit>) {
        let Some(work) = self.work.get_mut(place) else { return };
        work.hits = Some(hits);
        let step = work.step;
        let done = self.work.iter().filter(|work| work.hits.is_some()).count();
        let found = self.work.iter().flat_map(|work| &work.hits).map(Vec::len).sum::<usize>();
        let described = self.plan.iter().flat_map(|plan| &plan.steps);
        let mut described = described.filter(|it| it.step_number == step);
        let step_description =
            described.next().map(|it| it.description.clone()).unwrap_or_default();
        let progress = Share::of(done, self.work.len());
        let sources_found = found as u64;
        self.say(
            Party::Research,
            SearchProgress { step_number: step, step_description, progress, sources_found },
        );
        self.go_on_searching();
    }

    /// A search that gives nothing: another of its class stands in, or nobody.
    pub(super) fn without_search(&mut self, place: usize, why: &str) {
        let Some(work) = self.work.get(place).cloned() else { return };
        let stand_in = self.other_of_class(&work.provider, &work.query).cloned();
        match stand_in {
            Some(provider) => {
                self.notes.push(format!(
                    "{} did not answer ({why}); {} was asked instead",
                    work.provider, provider.id
                ));
                if let Some(work) = self.work.get_mut(place) {
                    work.provider = provider.id;
                }
                self.search(place);
            }
            None => {
                let note = format!("{} did not answer ({why})", work.provider);
                if !self.notes.contains(&note) {
                    self.notes.push(note);
                }
                self.done(place, Vec::new());
            }
        }
    }

    /// Who would be asked instead.
    pub(super) fn stand_in(&self, pending: &Pending) -> Option<&ProviderId> {
        let Call::Search { provider, query, .. } = &pending.call else { return None };
        self.other_of_class(provider, query).map(|provider| &provider.id)
    }

    fn other_of_class(&self, failed: &ProviderId, query: &str) -> Option<&Provider> {
        let class = self.order.providers.iter().find(|it| it.id == *failed)?.class;
        let is_other = |it: &&Provider| {
            let was_asked = self.asked.contains_key(&(it.id.clone(), normal(query)));
            it.id != *failed && it.class == class && class != Class::Tool && !was_asked
        };
        self.providers().find(is_other)
    }

    fn go_on_searching(&mut self) {
        let is_searching = self.work.iter().any(|work| work.hits.is_none());
        if self.phase == Phase::Researching && !is_searching {
            self.put_together();
            self.read_pages();
            self.go_on_reading();
        }
    }

    /// Makes sources of what the searches found, in the order of the searches.
    pub(super) fn put_together(&mut self) {
        let accessed = Moment(self.now);
        for place in 0..self.work.len() {
            let Some(work) = self.work.get(place) else { continue };
            let (step, provider) = (work.step, work.provider.clone());
            for hit in work.hits.clone().unwrap_or_default() {
                self.take_hit(step, &provider, hit, accessed);
            }
        }
    }

    fn take_hit(&mut self, step: u32, provider: &ProviderId, hit: Hit, accessed: Moment) {
        let is_same = |known: &&mut Source| {
            let is_place = known.provider == *provider && known.place == hit.place;
            is_place || (hit.address.is_some() && known.address == hit.address)
        };
        if let Some(known) = self.sources.iter_mut().find(is_same) {
            if !known.steps.contains(&step) {
                known.steps.push(step);
            }
            if known.is_summary || !hit.is_summary {
                known.add(hit.start, &hit.text);
            }
            return;
        }
        if self.sources.len() >= self.order.limits.sources_max {
            return;
        }
        let number = self.sources.len() as u64;
        let id = self.order.id.derived("source", number);
        let source = Source::new(id, provider.clone(), hit, step, accessed);
        let is_read = !source.is_summary;
        self.sources.push(source);
        if is_read {
            self.tell_read(self.sources.len() - 1);
        }
    }

    /// Wants the pages read of which only a summary is at hand.
    fn read_pages(&mut self) {
        let most = self.order.limits.pages_per_round_max.min(self.pages_left());
        let all = self.sources.iter().enumerate();
        let unread =
            all.filter(|(place, source)| source.is_summary && self.may_read(*place, source));
        let pages: Vec<(usize, Call)> = unread
            .filter_map(|(place, source)| {
                let address = source.address.clone()?;
                let freshness = self.freshness(&source.steps);
                Some((place, Call::Read { source: source.id, address, freshness }))
            })
            .take(most)
            .collect();
        for (place, call) in pages {
            let name = format!("read.{}.{place}", self.round);
            self.want(name, call, Task::Read { source: place });
        }
    }

    pub(super) fn was_read(&mut self, place: usize, text: &str) {
        if let Some(source) = self.sources.get_mut(place) {
            source.accessed = Moment(self.now);
            source.read(text);
        }
        self.tell_read(place);
        self.go_on_reading();
    }

    /// What its provider said of it has to do.
    pub(super) fn without_page(&mut self, place: usize, why: &str) {
        if let Some(source) = self.sources.get_mut(place) {
            source.is_summary = false;
            let note = format!("{} could not be read ({why})", source.title);
            self.notes.push(note);
        }
        self.go_on_reading();
    }

    fn tell_read(&mut self, place: usize) {
        let Some(source) = self.sources.get(place) else { return };
        let read = SourceRead {
            source_id: source.id,
            provider: source.provider.clone(),
            title: source.title.clone(),
            address: source.address.clone(),
            characters: source.text().chars().count() as u64,
        };
        self.say(Party::Research, read);
    }

    fn go_on_reading(&mut self) {
        let is_reading = self.pending.iter().any(|it| matches!(it.task, Task::Read { .. }));
        if !is_reading {
            self.tell_results();
            self.tell_budget();
            self.end_turn(Party::Reflect);
        }
    }

    fn tell_results(&mut self) {
        let mut by_source: BTreeMap<ProviderId, u64> = BTreeMap::new();
        for work in &self.work {
            let hits = work.hits.as_ref().map_or(0, Vec::len) as u64;
            *by_source.entry(work.provider.clone()).or_default() += hits;
        }
        let places: Vec<(&ProviderId, &str)> = self
            .work
            .iter()
            .flat_map(|work| {
                work.hits.iter().flatten().map(|hit| (&work.provider, hit.place.as_str()))
            })
            .collect();
        let is_of_round =
            |source: &&Source| places.contains(&(&source.provider, source.place.as_str()));
        let result_ids = self.sources.iter().filter(is_of_round).map(|source| source.id).collect();
        let web = self.order.providers.iter().find(|it| it.class == Class::Web);
        let of = |id: &ProviderId| by_source.get(id).copied().unwrap_or(0);
        let results = SearchResults {
            total_results: by_source.values().sum(),
            google_results: web.map_or(0, |web| of(&web.id)),
            arxiv_results: of(&ProviderId::arxiv()),
            result_ids,
            execution_time: (self.now.0 - self.round_started.0) / 1_000,
            results_by_source: by_source,
        };
        self.say(Party::Research, results);
    }
}

/// The same words in other letters are the same query.
fn normal(query: &str) -> String {
    query.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
