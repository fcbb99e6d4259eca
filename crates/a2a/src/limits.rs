//! How much of everything a peer may send.
//!
//! A whole body is bounded before it gets here; these keep one part of it from eating the rest.

/// Longest id, in bytes: several UUIDs, or a URN, fit.
pub const ID_BYTES_MAX: usize = 256;

/// Longest text of a part, in bytes: the text of a book of a thousand pages.
pub const TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Longest inline file, in bytes after decoding: larger ones are sent by URL.
pub const FILE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Longest URL, in bytes: what proxies and browsers commonly accept.
pub const URL_BYTES_MAX: usize = 8 * 1024;

/// Longest name, title, tag or media type, in bytes.
pub const NAME_BYTES_MAX: usize = 1024;

/// Longest description, in bytes: some cards carry a page of them.
pub const DESCRIPTION_BYTES_MAX: usize = 64 * 1024;

/// Longest token or credential of a webhook, in bytes: a large JWT fits.
pub const SECRET_BYTES_MAX: usize = 16 * 1024;

/// Longest page token, in bytes: ours are far shorter.
pub const PAGE_TOKEN_BYTES_MAX: usize = 1024;

/// Deepest nesting of JSON: below what the parser allows, and above any honest card or message.
pub const NESTING_MAX: usize = 100;

/// Parts of one message or one piece of an artifact.
pub const PARTS_MAX: usize = 1000;

/// Parts of a whole artifact: past them, pieces of plain text are joined, and what cannot be joined is refused.
pub const ARTIFACT_PARTS_MAX: usize = 1000;

/// Artifacts of one task.
pub const ARTIFACTS_MAX: usize = 1000;

/// Messages of a task's history that are kept: the oldest go first.
pub const HISTORY_MESSAGES_MAX: usize = 1000;

/// Extensions, referenced tasks and media types that a message, a card or a request may name, each.
pub const NAMES_MAX: usize = 256;

/// Webhooks of one task.
pub const PUSH_CONFIGS_MAX: usize = 16;

/// Tasks or webhooks of one page, as the specification has it.
pub const PAGE_SIZE_MAX: u32 = 100;

/// Tasks of a page when nobody says how many, as the specification has it.
pub const PAGE_SIZE_DEFAULT: u32 = 50;

/// Skills of one card: a gateway that shows each of its tools as a skill still fits.
pub const SKILLS_MAX: usize = 2000;

/// Interfaces, security schemes, requirements and signatures of one card, each.
pub const CARD_ITEMS_MAX: usize = 64;

/// Scopes of one security scheme or requirement.
pub const SCOPES_MAX: usize = 512;
