//! End-to-end tests: the real binary, its command line and its server, on a folder of their own.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that meets something unexpected should end there"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "how long a start takes is measured by the real clock"
)]

mod a2a;
mod a2a_clients;
mod a2a_identity;
mod a2a_kills;
mod a2a_snippets;
mod agents;
mod api;
mod bad_input;
mod catalogue;
mod chat;
mod chat_crash;
mod cli;
mod crash;
mod disk;
mod embedder;
mod evals;
mod golden;
mod hostile;
mod logins;
mod mcp;
mod mcp_clients;
mod mcp_servers;
mod openai_client;
mod page;
mod peers;
mod real_model;
mod report_files;
mod research;
mod research_called;
mod research_served;
mod research_shared;
mod research_standing;
mod research_ways;
mod running;
mod socket;
mod tenants;
mod tls;
mod tool_programs;
mod tools;
mod traces;
mod watch;
mod world;
