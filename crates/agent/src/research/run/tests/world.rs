//! A world that answers the calls of a run from a script.

use serde_json::{Value, json};

use crate::identity::Timestamp;
use crate::model::{Message, Usage};
use crate::research::call::{Call, CallKey, CallSpent, Failure, Outcome, Purpose};
use crate::research::journal::{Entry, Event, Steering};
use crate::research::message::{ErrorType, ProviderId, Uuid};
use crate::research::order::{
    Approval, Chooser, Class, Order, Provider, RunBudget, RunLimits, Thinking,
};
use crate::research::run::{Awaiting, Run};
use crate::research::source::Hit;

/// Entries after which a run that still goes on will never end.
const ENTRIES_MAX: usize = 3_000;

/// When every run here begins.
pub(super) const START: Timestamp = Timestamp(1_763_201_400_000);

pub(super) fn provider(name: &str, class: Class) -> Provider {
    Provider { id: name.parse().unwrap(), class, is_repeatable: class != Class::Tool }
}

pub(super) fn order() -> Order {
    Order {
        id: Uuid::from_random([5; 16]),
        question: "How do budget alerts work and what do they cost?".to_owned(),
        providers: vec![provider("local", Class::Own), provider("arxiv", Class::Scholarly)],
        approval: Approval::Given,
        thinking: Thinking::Model,
        chooser: Chooser::Rules,
        limits: RunLimits::default(),
        budget: RunBudget::default(),
        answer_seconds: None,
        hops: 0,
        basis: None,
        conversation: None,
    }
}

pub(super) fn offline() -> Order {
    Order { thinking: Thinking::Offline, providers: vec![provider("local", Class::Own)], ..order() }
}

/// What the documents say.
pub(super) const ALERTS: &str = "A budget alert is sent when 80 percent of the monthly budget is spent. Budget alerts go to the owner by mail.";
pub(super) const COSTS: &str = "Budget alerts cost nothing for the first 10 budgets. Each further budget costs 2 dollars in a month.";

pub(super) fn hit(place: &str, text: &str) -> Hit {
    Hit {
        place: place.to_owned(),
        title: place.to_owned(),
        address: None,
        published: None,
        text: text.to_owned(),
        start: 0,
        is_summary: false,
    }
}

pub(super) fn found(query: &str) -> Outcome {
    let hits = if query.contains("cost") {
        vec![hit("costs.md", COSTS), hit("alerts.md", ALERTS)]
    } else {
        vec![hit("alerts.md", ALERTS)]
    };
    Outcome::Found { hits }
}

pub(super) fn said(value: &Value) -> Outcome {
    Outcome::Said { text: value.to_string() }
}

pub(super) fn failure(status: u16, is_passing: bool, retry_after: Option<u64>) -> Outcome {
    let message = format!("the provider answers with {status}");
    let status = Some(status);
    let failure = Failure::new(ErrorType::ApiError, message);
    Outcome::Failed(Failure { status, retry_after, is_passing, ..failure })
}

pub(super) fn plan() -> Outcome {
    said(&json!({
        "strategy": "alerts first, then costs",
        "steps": [
            {"description": "how budget alerts work", "sources": ["local"], "keywords": ["budget alert"]},
            {"description": "what budget alerts cost", "sources": ["local", "arxiv"], "keywords": ["budget", "cost"]},
        ],
        "estimated_seconds": 20,
    }))
}

pub(super) fn assessment(needs_more: bool) -> Outcome {
    said(&json!({
        "relevance": 0.9,
        "coverage": if needs_more { 0.4 } else { 0.9 },
        "needs_more_search": needs_more,
        "feedback": if needs_more { "the mail is missing" } else { "enough is known" },
        "more_keywords": if needs_more { json!(["alert mail"]) } else { json!([]) },
        "structure": ["Alerts", "# Costs https://invented.example/y"],
    }))
}

/// A section that quotes the first sentence of each source that it was shown.
pub(super) fn section(messages: &[Message]) -> Outcome {
    let Some(Message::User { text }) = messages.get(1) else { panic!("{messages:?}") };
    let sources = text.split("<<<source [").skip(1).map(|source| {
        let (number, rest) = source.split_once(']').unwrap();
        let body = rest.split_once('\n').unwrap().1;
        let sentence = body.split_inclusive('.').next().unwrap_or_default().trim().to_owned();
        (number.parse::<u32>().unwrap(), sentence)
    });
    let heading = text.rsplit("Write the section: ").next().unwrap().to_owned();
    let claims: Vec<Value> = sources
        .map(|(source, quote)| {
            json!({
                "text": format!("{heading}: {quote} [9] see https://invented.example/x"),
                "citations": [{"source": source, "quote": quote}],
            })
        })
        .collect();
    said(&json!({"claims": claims, "not_found": []}))
}

/// The answer of a world in which all goes well, and one more search is wanted.
pub(super) fn well(key: &CallKey, call: &Call) -> Outcome {
    match call {
        Call::Ask { purpose: Purpose::Plan, .. } => plan(),
        Call::Ask { purpose: Purpose::Assess, .. } => {
            assessment(key.as_str().starts_with("assess.1."))
        }
        Call::Ask { purpose: Purpose::Write, messages } => section(messages),
        Call::Ask { purpose: Purpose::Choose, .. } => said(&json!({
            "terminate": false, "reason": "go on", "next_speaker": "reflect", "final_message": null,
        })),
        Call::Search { query, .. } => found(query),
        Call::Read { .. } => Outcome::Read { text: ALERTS.to_owned() },
        Call::Recall { .. } => failure(404, false, None),
    }
}

pub(super) fn spent(call: &Call) -> CallSpent {
    match call {
        Call::Ask { .. } => CallSpent {
            usage: Usage { input: 100, output: 10, ..Usage::default() },
            ..CallSpent::default()
        },
        Call::Search { .. } | Call::Read { .. } | Call::Recall { .. } => CallSpent::default(),
    }
}

/// A run that is played to its end, and all that happened in it.
pub(super) struct Played {
    pub(super) run: Run,
    pub(super) journal: Vec<Entry>,
    /// The calls that were made, in order.
    pub(super) made: Vec<CallKey>,
    now: Timestamp,
    /// Milliseconds that each entry takes.
    pub(super) tick: u64,
}

impl Played {
    pub(super) fn new(order: Order) -> Self {
        Self::of(Run::new(order, START), Vec::new())
    }

    pub(super) fn of(run: Run, journal: Vec<Entry>) -> Self {
        let now = journal.last().map_or(START, |entry: &Entry| entry.at);
        Self { run, journal, made: Vec::new(), now, tick: 0 }
    }

    pub(super) fn add(&mut self, event: Event) {
        self.now = Timestamp(self.now.0 + self.tick);
        let entry = Entry { at: self.now, event };
        self.run.apply(&entry).unwrap();
        self.journal.push(entry);
        assert!(self.journal.len() < ENTRIES_MAX, "the run does not end");
    }

    pub(super) fn steer(&mut self, steering: Steering) {
        self.add(Event::Steered { steering });
    }

    pub(super) fn begin(&mut self, key: &CallKey) {
        self.made.push(key.clone());
        self.add(Event::Begun { key: key.clone() });
    }

    pub(super) fn end(&mut self, key: &CallKey, call: &Call, outcome: Outcome) {
        self.add(Event::Ended { key: key.clone(), outcome, spent: spent(call) });
    }

    /// What is done when no call can be made: a person answers, or time goes by. False if the run is over.
    pub(super) fn pass(&mut self) -> bool {
        let next = self.run.next();
        if next.is_ended {
            return false;
        }
        if let Some(at) = next.wake_at {
            self.now = at.max(self.now);
            self.add(Event::Woke);
            return true;
        }
        let steering = match next.awaits.first() {
            Some(Awaiting::Plan) => Steering::Approve,
            Some(Awaiting::Repeat(key) | Awaiting::Allow(key)) => {
                Steering::Repeat { key: key.clone(), is_wanted: true }
            }
            Some(Awaiting::Resume) => Steering::Resume,
            None => panic!("the run waits for nothing: {:#?}", self.run),
        };
        self.steer(steering);
        true
    }

    /// Plays to the end, one call after the other.
    pub(super) fn play(mut self, world: &mut dyn FnMut(&CallKey, &Call) -> Outcome) -> Self {
        loop {
            match self.run.next().calls.first().cloned() {
                Some((key, call)) => {
                    self.begin(&key);
                    let outcome = world(&key, &call);
                    self.end(&key, &call, outcome);
                }
                None if self.pass() => {}
                None => return self,
            }
        }
    }

    pub(super) fn markdown(&self) -> String {
        self.run.report().unwrap().to_markdown()
    }

    /// The kinds of messages that were sent, in order.
    pub(super) fn kinds(&self) -> Vec<&'static str> {
        self.run.messages().iter().map(|message| message.content.kind().name()).collect()
    }
}

pub(super) fn of_provider(call: &Call, name: &str) -> bool {
    let id: ProviderId = name.parse().unwrap();
    matches!(call, Call::Search { provider, .. } if *provider == id)
}
