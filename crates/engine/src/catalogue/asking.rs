//! What other catalogues and their clients ask, in the words of ARD.

use std::collections::{BTreeMap, BTreeSet};

use a2a::registry::ard::{
    self, AGENTS_PAGE_SIZE, CatalogEntry, ExploreRequest, FACET_VALUES, FACET_VALUES_MAX,
    Federation, RequestError, SearchRequest, SearchResponse, SearchResult,
};
use a2a::registry::disclosure::Caller;
use a2a::registry::facets::{Counts, Facet, count, count_values};

use super::finding::{Found, page, token};
use super::{Catalogue, CatalogueError};

/// `GET /agents`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentsQuestion {
    pub filter: Option<String>,
    pub order_by: Option<String>,
    pub page_size: Option<u32>,
    pub page_token: Option<String>,
}

pub type AgentsAnswer = ard::AgentsResponse;

/// Values of each field that was asked for.
pub type ExploreAnswer = BTreeMap<String, Counts>;

impl Catalogue {
    /// Searches, here and as far as `federation` says elsewhere. `own_address` is what results of ours are said to be from.
    ///
    /// # Errors
    /// If the request cannot be used.
    pub async fn search(
        &self,
        caller: &Caller,
        request: &SearchRequest,
        own_address: &str,
    ) -> Result<SearchResponse, CatalogueError> {
        let size = request.check().map_err(refused)?;
        let found = self.matching(caller, Some(&request.query.text), |view| {
            ard::matches(&ard::entry(view), &request.query.filter)
        });
        let found = found.await?;
        let asked = format!("{} {:?}", request.query.text, request.query.filter);
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let (found, total, next) = page(found, &asked, request.page_token.as_deref(), size)?;
        let own: Vec<SearchResult> = found.iter().map(|found| result(found, own_address)).collect();
        let mut response = SearchResponse { results: own, referrals: Vec::new(), page_token: next };
        match request.federation {
            Federation::None => {}
            Federation::Referrals => response.referrals = self.referrals(),
            // What others have comes with the first page: they page by themselves.
            Federation::Auto if request.page_token.is_none() => {
                let others = self.ask_upstreams(request).await;
                let shown = merge(&mut response.results, others, size, own_address);
                response.page_token = (shown < total).then(|| token(&asked, shown));
            }
            Federation::Auto => {}
        }
        Ok(response)
    }

    /// Counts what the caller sees of what a search would find.
    ///
    /// # Errors
    /// If the request cannot be used.
    pub async fn explore(
        &self,
        caller: &Caller,
        request: &ExploreRequest,
    ) -> Result<ExploreAnswer, CatalogueError> {
        request.check().map_err(refused)?;
        let found = self.matching(caller, request.query.text.as_deref(), |view| {
            ard::matches(&ard::entry(view), &request.query.filter)
        });
        let found = found.await?;
        let mut answer = ExploreAnswer::new();
        for facet in &request.result_type.facets {
            let most = facet.limit.unwrap_or(FACET_VALUES).min(FACET_VALUES_MAX);
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            let least = facet.min_count.unwrap_or(1);
            let counts = match Facet::read(&facet.field) {
                Some(known) => count(found.iter().map(|it| &it.view), known, most, least),
                None => counts_by_path(&found, &facet.field, most, least)?,
            };
            answer.insert(facet.field.clone(), counts);
        }
        Ok(answer)
    }

    /// Lists all that the caller sees.
    ///
    /// # Errors
    /// If the request cannot be used.
    pub async fn agents(
        &self,
        caller: &Caller,
        question: &AgentsQuestion,
    ) -> Result<AgentsAnswer, CatalogueError> {
        let size = ard::page_size(question.page_size, AGENTS_PAGE_SIZE).map_err(refused)?;
        let filter = ard::parse(question.filter.as_deref().unwrap_or_default())
            .map_err(|error| CatalogueError::Refused(error.to_string()))?;
        let found = self.matching(caller, None, |_| true).await?;
        let mut items: Vec<CatalogEntry> = found
            .iter()
            .map(|found| (ard::entry(&found.view), found.registered_at))
            .filter(|(entry, created)| filter.matches(entry, *created))
            .map(|(entry, _)| entry)
            .collect();
        order(&mut items, question.order_by.as_deref())?;
        let asked = format!("{:?} {:?}", question.filter, question.order_by);
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let (items, total, page_token) = page(items, &asked, question.page_token.as_deref(), size)?;
        Ok(AgentsAnswer { items, total: total as u64, page_token })
    }
}

fn result(found: &Found, source: &str) -> SearchResult {
    let entry = ard::entry(&found.view);
    SearchResult { entry, score: found.relevance, source: source.to_owned() }
}

/// Puts what others have among our own, best first, at most `size`; says how many of the results are ours.
fn merge(
    results: &mut Vec<SearchResult>,
    others: Vec<SearchResult>,
    size: usize,
    own_address: &str,
) -> usize {
    let known: BTreeSet<String> =
        results.iter().map(|result| result.entry.identifier.clone()).collect();
    results.extend(others.into_iter().filter(|it| !known.contains(&it.entry.identifier)));
    // Stable: of equals, our own come first.
    results.sort_by_key(|result| std::cmp::Reverse(result.score));
    results.truncate(size);
    results.iter().filter(|result| result.source == own_address).count()
}

fn counts_by_path(
    found: &[Found],
    path: &str,
    most: usize,
    least: u64,
) -> Result<Counts, CatalogueError> {
    let entries = found.iter().map(|found| ard::entry(&found.view));
    let mut values = Vec::new();
    for entry in entries {
        let of_it = ard::values(&entry, path).ok_or_else(|| no_field(path))?;
        values.push(of_it.into_iter().collect::<BTreeSet<String>>());
    }
    // Nobody to ask whether the field is there: then it is asked of the form alone.
    if values.is_empty() && !ard::is_field(path) {
        return Err(no_field(path));
    }
    Ok(count_values(values, most, least))
}

fn no_field(path: &str) -> CatalogueError {
    let path: String = path.chars().take(64).collect();
    CatalogueError::Refused(format!("entries have no field {path:?}"))
}

fn order(items: &mut [CatalogEntry], by: Option<&str>) -> Result<(), CatalogueError> {
    let by = by.unwrap_or("displayName").trim();
    let (field, is_reversed) = match by.split_once(' ') {
        None => (by, false),
        Some((field, direction)) => match direction.trim().to_ascii_lowercase().as_str() {
            "asc" => (field, false),
            "desc" => (field, true),
            _ => return Err(no_order()),
        },
    };
    match field {
        "displayName" => items.sort_by(|a, b| a.display_name.cmp(&b.display_name)),
        "identifier" => items.sort_by(|a, b| a.identifier.cmp(&b.identifier)),
        "updatedAt" => items.sort_by(|a, b| a.updated_at.cmp(&b.updated_at)),
        _ => return Err(no_order()),
    }
    if is_reversed {
        items.reverse();
    }
    Ok(())
}

fn no_order() -> CatalogueError {
    let why =
        "orderBy is displayName, identifier or updatedAt, with asc or desc behind it if wanted";
    CatalogueError::Refused(why.to_owned())
}

fn refused(error: RequestError) -> CatalogueError {
    CatalogueError::Refused(error.to_string())
}
