//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::commands::a2a::A2a;
use crate::commands::activity::Activity;
use crate::commands::agents::Agents;
use crate::commands::conformance::Conformance;
use crate::commands::mcp::Mcp;

/// Answers a team's questions from its own documents, in Korean and English.
#[derive(Debug, Parser)]
#[command(name = "saem", version, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// Keep everything in this folder instead of the platform's own
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Listen here instead of 127.0.0.1:7777
    #[arg(long, global = true, value_name = "ADDR:PORT")]
    pub(crate) listen: Option<String>,
    /// Ask the server at this address instead of using a folder; SAEM_API_KEY holds the key
    #[arg(long, global = true, value_name = "URL", conflicts_with_all = ["data", "listen"])]
    pub(crate) server: Option<String>,
    /// Read settings from this file
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON for programs instead of text for people
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say more in the log; twice for everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Try Saem: loads the demo documents and serves them on 127.0.0.1:7777
    Demo,
    /// Serve the API
    Serve,
    /// Load documents: files, folders, web addresses, or - for standard input
    Ingest(Ingest),
    /// Find passages
    Search(Search),
    /// Ask one question and get an answer with its sources
    Ask(Ask),
    /// Talk: ask on, with what was said before
    Chat(Chat),
    /// Research a question in steps, and get a report in which every citation was checked
    Research(Research),
    /// List, show, correct and forget conversations
    #[command(subcommand)]
    Sessions(Sessions),
    /// Say what models have cost, and what a month would
    Cost(Cost),
    /// List, show and delete documents
    #[command(subcommand)]
    Documents(Documents),
    /// Serve to MCP clients, and use the tools of MCP servers
    #[command(subcommand)]
    Mcp(Mcp),
    /// Keep a catalogue of agents, and find agents in it
    #[command(subcommand)]
    Agents(Agents),
    /// Speak to other agents
    #[command(subcommand)]
    A2a(A2a),
    /// Create, list and revoke API keys
    #[command(subcommand)]
    Key(Key),
    /// Show which tools were called, by whom and how it ended
    Activity(Activity),
    /// Forget what has expired and compact the index
    Cleanup,
    /// Measure the quality of search, of answers and of memory
    #[command(subcommand)]
    Eval(Eval),
    /// Say what is configured, what is missing and what it would add
    Doctor,
    /// Stand in for a server or a client in a protocol's conformance suite
    #[command(subcommand, hide = true)]
    Conformance(Conformance),
    /// Read documents for another Saem (started by itself)
    #[command(hide = true)]
    Worker,
    /// Start a server of tools within its limits (started by itself)
    #[command(hide = true)]
    Program(Program),
}

#[derive(Debug, Args)]
pub(crate) struct Program {
    #[arg(long)]
    pub(crate) memory_mib_max: u64,
    #[arg(long)]
    pub(crate) files_max: u64,
    #[arg(long)]
    pub(crate) processes_max: u64,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Ingest {
    /// Files, folders, http(s) addresses, or - for standard input
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// Put them into this collection
    #[arg(long, default_value = "documents", value_name = "NAME")]
    pub(crate) collection: String,
    /// Their type: faq, guide or any other word
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) doc_type: Option<String>,
    /// Name of the document read from standard input; its ending says the format
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Column that holds the question of a FAQ in CSV or JSON
    #[arg(long, value_name = "COLUMN")]
    pub(crate) question: Option<String>,
    /// Column that holds the answer of a FAQ in CSV or JSON
    #[arg(long, value_name = "COLUMN")]
    pub(crate) answer: Option<String>,
    /// Delete documents of these folders whose files are gone
    #[arg(long)]
    pub(crate) prune: bool,
    /// Stay and load whatever changes, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Search {
    /// What to look for; may be left out when there is a filter
    #[arg(value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    /// Only in this collection
    #[arg(long, value_name = "NAME")]
    pub(crate) collection: Option<String>,
    /// Only chunks with this tag: has_steps=true, plan=pro|team, updated_at>=2026-01-01
    #[arg(long = "where", value_name = "CONDITION")]
    pub(crate) conditions: Vec<String>,
    /// This many passages, instead of 3 from FAQs and 7 from guides
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<usize>,
    /// Which side of the index to ask
    #[arg(long, value_enum, default_value_t = Mode::Hybrid)]
    pub(crate) mode: Mode,
    /// Show how each passage was found
    #[arg(long)]
    pub(crate) explain: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// The question; - or nothing reads it from standard input
    #[arg(value_name = "QUESTION")]
    pub(crate) words: Vec<String>,
    /// Go on with this conversation
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Show how the answer came about: searches, verdicts, what the model read, tokens and cost
    #[arg(long)]
    pub(crate) explain: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Chat {
    /// Go on with this conversation
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Show how each answer came about
    #[arg(long)]
    pub(crate) explain: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Research {
    /// The question; - or nothing reads it from standard input
    #[arg(value_name = "QUESTION", conflicts_with_all = ["resume", "list", "show", "again"])]
    pub(crate) words: Vec<String>,
    /// Follow the plan without asking about it
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Write the report to this file; its ending says how: .md, .html, .pdf, .docx or .json
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Search these places alone: local for your own documents, names of research.providers, tool:SERVER__TOOL, agent:NAME
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) sources: Vec<String>,
    /// What the run may use, such as seconds=300,tokens=50000,dollars=0.20,calls=60,pages=20
    #[arg(long, value_name = "LIMITS", default_value = "")]
    pub(crate) budget: String,
    /// The question follows the report of this run: what it has found is used before anything is searched
    #[arg(long, value_name = "ID", conflicts_with_all = ["resume", "list", "show", "control", "again"])]
    pub(crate) follow: Option<String>,
    /// Do one step of a finished run anew, and keep what its other steps have found
    #[arg(long, value_name = "ID", requires = "step", conflicts_with_all = ["resume", "list", "show", "control", "sources", "budget"])]
    pub(crate) again: Option<String>,
    /// The number of the step that --again does anew
    #[arg(long, value_name = "N", requires = "again")]
    pub(crate) step: Option<u32>,
    /// Go on with a run that was interrupted
    #[arg(long, value_name = "ID", conflicts_with = "list")]
    pub(crate) resume: Option<String>,
    /// List runs, the latest first
    #[arg(long)]
    pub(crate) list: bool,
    /// Show where a run stands, or its report if there is one
    #[arg(long, value_name = "ID", conflicts_with_all = ["list", "resume"])]
    pub(crate) show: Option<String>,
    /// Steer a run: approve, refuse, pause, resume, stop, finish, instruct and what else to look for; or allow, repeat
    /// or do-without and a call that is asked about
    #[arg(long, value_name = "ID", conflicts_with_all = ["list", "resume", "show"])]
    pub(crate) control: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Sessions {
    /// List conversations, the latest first
    List {
        /// This many
        #[arg(long, default_value_t = 20, value_name = "N")]
        count: usize,
    },
    /// Show a conversation and what is remembered of it
    Show {
        /// The conversation's id
        id: String,
        /// Only what is remembered
        #[arg(long)]
        memory: bool,
    },
    /// Correct what is remembered of a conversation, or its title
    Edit(EditSession),
    /// Forget conversations and all that was said in them
    Forget {
        /// The conversations' ids
        #[arg(required = true)]
        ids: Vec<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct EditSession {
    /// The conversation's id
    pub(crate) id: String,
    /// The memory from now on; empty to clear it, - to read it from standard input
    #[arg(long, value_name = "TEXT")]
    pub(crate) memory: Option<String>,
    /// A fact to add or change: budget=$10,000
    #[arg(long = "fact", value_name = "KEY=VALUE")]
    pub(crate) facts: Vec<String>,
    /// A fact to remove
    #[arg(long = "no-fact", value_name = "KEY")]
    pub(crate) no_facts: Vec<String>,
    /// Bring this version of the memory back
    #[arg(long, value_name = "VERSION", conflicts_with_all = ["memory", "facts", "no_facts"])]
    pub(crate) back_to: Option<u64>,
    /// Another title
    #[arg(long, value_name = "TITLE")]
    pub(crate) title: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Cost {
    /// Add it up by this
    #[arg(long, value_enum, default_value_t = CostBy::Component)]
    pub(crate) by: CostBy,
    /// Of this many days, today included
    #[arg(long, default_value_t = 30, value_name = "N")]
    pub(crate) days: u32,
    /// Project a month of so many sessions a day and turns in a session, instead of what was seen
    #[arg(long, num_args = 2, value_names = ["SESSIONS_PER_DAY", "TURNS_PER_SESSION"])]
    pub(crate) project: Option<Vec<f64>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CostBy {
    Component,
    Session,
    Day,
    Model,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Mode {
    Hybrid,
    Keyword,
    Vector,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Documents {
    /// List documents
    List {
        /// Only of this collection
        #[arg(long, value_name = "NAME")]
        collection: Option<String>,
    },
    /// Show a document and its sections
    Show {
        /// The document's id
        id: String,
    },
    /// Delete documents everywhere
    Delete {
        /// The documents' ids
        #[arg(required = true)]
        ids: Vec<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    /// Create a key and show it, once
    Create {
        /// What the key is for
        #[arg(long, default_value = "")]
        label: String,
        /// The tenant that the key belongs to; local, if left out
        #[arg(long)]
        tenant: Option<String>,
        /// What the key may do: read, write, admin
        #[arg(long, value_delimiter = ',', default_value = "read")]
        scopes: Vec<String>,
        /// Days until the key expires; never, if left out
        #[arg(long)]
        days: Option<u64>,
    },
    /// List keys
    List,
    /// Revoke a key by its prefix
    Revoke {
        /// The eight characters after saem_
        prefix: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Eval {
    /// Whole turns over the demo's questions: right passages, questions given up, citations
    Copilot {
        /// Ask only this many questions
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
        /// Ask one question of five kinds in both languages, and say what each turn took: for a model that takes its time
        #[arg(long, conflicts_with = "limit")]
        sample: bool,
    },
    /// nDCG@10, recall@10 and MRR@10 of keyword, vector and hybrid search
    Retrieval {
        /// Which set of questions
        #[arg(long, value_enum)]
        set: EvalSet,
        /// The folder with the data sets; SAEM_DATA, if left out
        #[arg(long = "sets", value_name = "DIR")]
        sets: Option<PathBuf>,
        /// Ask only this many questions
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// How much of a long conversation a model would still see when it is asked about it
    Memory {
        /// Which conversations
        #[arg(long, value_enum, default_value_t = MemoryEvalSet::Dialogues)]
        set: MemoryEvalSet,
        /// The folder with the data sets; SAEM_DATA, if left out
        #[arg(long = "sets", value_name = "DIR")]
        sets: Option<PathBuf>,
        /// Ask only this many questions
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// Whether the check of a report's claims tells what a source supports, on AttributionBench
    Citations {
        /// The folder with the data sets; SAEM_DATA, if left out
        #[arg(long = "sets", value_name = "DIR")]
        sets: Option<PathBuf>,
        /// Look at only this many claims
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// Whole research runs over HotpotQA, or the demo: paragraphs found and cited, invented citations
    Research {
        /// A run in each language over the demo's documents instead, and what each took: for a model that takes its time
        #[arg(long, conflicts_with_all = ["sets", "limit"])]
        sample: bool,
        /// The folder with the data sets; SAEM_DATA, if left out
        #[arg(long = "sets", value_name = "DIR")]
        sets: Option<PathBuf>,
        /// Ask only this many questions
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MemoryEvalSet {
    Locomo,
    Dialogues,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EvalSet {
    Korquad,
    Hotpotqa,
    Cloudcost,
}
