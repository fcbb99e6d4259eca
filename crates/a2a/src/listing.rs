//! Lists of tasks: which, in which order, and where the next page begins.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::ids::TaskId;
use crate::limits::PAGE_SIZE_DEFAULT;
use crate::machine::{Artifacts, view};
use crate::model::{ListQuery, Task};
use crate::timestamp::Timestamp;

/// The place of a task in a list: the latest status first, then by id. It sorts as the list does.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// How long before the end of time: what is later comes first.
    before_end: i64,
    id: TaskId,
}

impl Place {
    #[must_use]
    pub fn of(task: &Task) -> Self {
        Self::at(task.status.timestamp, task.id.clone())
    }

    fn at(moment: Option<Timestamp>, id: TaskId) -> Self {
        Self { before_end: moment.map_or(i64::MAX, |moment| -moment.milliseconds()), id }
    }
}

/// A question for a page of tasks, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    query: ListQuery,
    size: u32,
    /// The last task of the page before.
    after: Option<Place>,
}

/// What a page token holds.
#[derive(Serialize, Deserialize)]
struct Token {
    /// Milliseconds of the last task's status.
    moment: Option<i64>,
    id: TaskId,
    /// What was asked: a token is good for its own question alone.
    filter: u64,
}

impl Page {
    /// Reads the question, with its page token if it has one.
    ///
    /// # Errors
    /// If the token is not one of ours, or of another question.
    pub fn read(query: ListQuery) -> Result<Self, Error> {
        let refused =
            || Error::violation("pageToken", "is the one of the page before, with the same filter");
        let after = match &query.page_token {
            None => None,
            Some(token) => {
                let json = URL_SAFE_NO_PAD.decode(token).map_err(|_| refused())?;
                let token: Token = serde_json::from_slice(&json).map_err(|_| refused())?;
                let moment = token
                    .moment
                    .map(Timestamp::from_milliseconds)
                    .transpose()
                    .map_err(|_| refused())?;
                if token.filter != filter(&query) {
                    return Err(refused());
                }
                Some(Place::at(moment, token.id))
            }
        };
        Ok(Self { size: query.page_size.unwrap_or(PAGE_SIZE_DEFAULT), query, after })
    }

    #[must_use]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// What was asked.
    #[must_use]
    pub fn query(&self) -> &ListQuery {
        &self.query
    }

    /// The last task of the page before: when it got its status, and its id.
    #[must_use]
    pub fn after(&self) -> Option<(Option<Timestamp>, &TaskId)> {
        let place = self.after.as_ref()?;
        let moment =
            place.before_end.checked_neg().and_then(|at| Timestamp::from_milliseconds(at).ok());
        Some((moment, &place.id))
    }

    /// Whether a task is of the list, on whatever page.
    #[must_use]
    pub fn matches(&self, task: &Task) -> bool {
        let query = &self.query;
        query.context.as_ref().is_none_or(|context| task.context.as_ref() == Some(context))
            && query.status.is_none_or(|state| task.status.state == state)
            && query
                .updated_after
                .is_none_or(|after| task.status.timestamp.is_some_and(|moment| moment >= after))
    }

    /// Whether a task of the list comes on this page or a later one.
    #[must_use]
    pub fn comes_after(&self, place: &Place) -> bool {
        self.after.as_ref().is_none_or(|after| place > after)
    }

    /// A task as the list shows it: without artifacts unless they were asked for.
    #[must_use]
    pub fn show(&self, task: &Task) -> Task {
        let artifacts = match self.query.include_artifacts {
            Some(true) => Artifacts::With,
            Some(false) | None => Artifacts::Without,
        };
        view(task, self.query.history_length, artifacts)
    }

    /// The token of the page after the one that ends with `last`.
    #[must_use]
    pub fn next_token(&self, last: &Task) -> String {
        let moment = last.status.timestamp.map(Timestamp::milliseconds);
        let token = Token { moment, id: last.id.clone(), filter: filter(&self.query) };
        // Numbers and a text can always be written.
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
    }
}

/// A number for what was asked, but for the page: FNV-1a, since it has to be the same in every process.
fn filter(query: &ListQuery) -> u64 {
    let asked = format!("{:?}", (&query.context, query.status, query.updated_after));
    asked.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TaskState;
    use crate::samples::{moment, task};
    use proptest::prelude::*;

    fn tasks(moments: &[i64]) -> Vec<Task> {
        let make = |(index, at): (usize, &i64)| {
            let mut task = task(&format!("t-{index}"), TaskState::Working);
            task.status.timestamp = Some(moment(*at));
            task
        };
        moments.iter().enumerate().map(make).collect()
    }

    /// A page and the token of the next, by the rules alone.
    fn turn(all: &[Task], query: ListQuery) -> (Vec<String>, Option<String>) {
        let page = Page::read(query).unwrap();
        let mut listed: Vec<_> = all
            .iter()
            .filter(|task| page.matches(task) && page.comes_after(&Place::of(task)))
            .collect();
        listed.sort_by_key(|task| Place::of(task));
        let size = page.size() as usize;
        let token = (listed.len() > size).then(|| page.next_token(listed[size - 1]));
        (listed.iter().take(size).map(|task| task.id.to_string()).collect(), token)
    }

    proptest! {
        #[test]
        fn pages_together_are_the_list_latest_first(moments in prop::collection::vec(0i64..5, 0..30), size in 1u32..7) {
            let all = tasks(&moments);
            let (mut seen, mut token) = (Vec::new(), None);
            for _ in 0..=all.len() {
                let query = ListQuery { page_size: Some(size), page_token: token, ..ListQuery::default() };
                let (page, next) = turn(&all, query);
                seen.extend(page);
                token = next;
                if token.is_none() {
                    break;
                }
            }
            let mut expected: Vec<_> = all.iter().map(|task| (-task.status.timestamp.unwrap().milliseconds(), task.id.to_string())).collect();
            expected.sort();
            prop_assert_eq!(seen, expected.into_iter().map(|(_, id)| id).collect::<Vec<_>>());
        }

        #[test]
        fn any_token_is_read_or_refused(token in "[A-Za-z0-9_-]{0,60}") {
            let _ = Page::read(ListQuery { page_token: Some(token), ..ListQuery::default() });
        }
    }

    #[test]
    fn a_token_is_good_for_its_own_question_alone() {
        let all = tasks(&[1, 2, 3]);
        let ask = |status, page_token| ListQuery {
            status,
            page_token,
            page_size: Some(1),
            ..ListQuery::default()
        };
        let (_, token) = turn(&all, ask(Some(TaskState::Working), None));
        assert!(Page::read(ask(Some(TaskState::Working), token.clone())).is_ok());
        let error = Page::read(ask(None, token)).unwrap_err();
        assert_eq!(error.violations[0].field, "pageToken");
        assert!(Page::read(ask(None, Some("?".to_owned()))).is_err());
    }

    #[test]
    fn a_list_is_filtered_by_context_state_and_moment() {
        let all = tasks(&[10, 20]);
        let ids = |query| turn(&all, query).0;
        assert_eq!(
            ids(ListQuery { updated_after: Some(moment(20)), ..ListQuery::default() }),
            ["t-1"]
        );
        assert!(
            ids(ListQuery { context: Some("other".parse().unwrap()), ..ListQuery::default() })
                .is_empty()
        );
        assert!(
            ids(ListQuery { status: Some(TaskState::Failed), ..ListQuery::default() }).is_empty()
        );
        let page = Page::read(ListQuery::default()).unwrap();
        assert_eq!(page.size(), PAGE_SIZE_DEFAULT);
        let mut whole = all[0].clone();
        whole.artifacts.push(crate::samples::artifact("a", "x"));
        assert!(page.show(&whole).artifacts.is_empty());
        let page = Page::read(ListQuery { include_artifacts: Some(true), ..ListQuery::default() })
            .unwrap();
        assert_eq!(page.show(&whole), whole);
    }
}
