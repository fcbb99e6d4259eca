//! Tests of what runs, what is asked and what is refused.

use serde_json::json;

use super::*;
use crate::tools::definition::Annotations;
use crate::tools::naming::ServerId;

const READS: Annotations = Annotations {
    read_only: Some(true),
    destructive: None,
    idempotent: None,
    open_world: Some(false),
};
const SENDS: Annotations = Annotations { open_world: Some(true), ..READS };
const SILENT: Annotations =
    Annotations { read_only: None, destructive: None, idempotent: None, open_world: None };

fn tool(annotations: Annotations) -> Definition {
    let server = ServerId::for_name("files");
    Definition {
        name: ToolName::of(&server, "use"),
        server,
        original: "use".to_owned(),
        title: None,
        description: String::new(),
        input_schema: json!({}),
        output_schema: None,
        annotations,
        pin: "pin".to_owned(),
        findings: Vec::new(),
    }
}

fn here() -> Circumstances<'static> {
    Circumstances {
        principal: "owner",
        session: Some("s1"),
        now: Timestamp(100),
        attendance: Attendance::Attended,
        influence: Influence::Person,
    }
}

fn rules(trust: Trust) -> ServerRules {
    ServerRules { trust, ..ServerRules::default() }
}

fn yes(session: Option<&str>) -> Approval {
    Approval {
        tool: tool(READS).name,
        pin: "pin".to_owned(),
        session: session.map(str::to_owned),
        by: "owner".to_owned(),
        at: Timestamp(0),
        expires_at: Timestamp(1_000),
    }
}

fn decide(tool: &Definition, trust: Trust, approvals: &[Approval]) -> Ruling {
    rule(tool, &rules(trust), Standing::Known, approvals, &here())
}

fn extents_of(ruling: &Ruling) -> Vec<Extent> {
    match ruling {
        Ruling::Ask { extents, .. } => extents.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_only_reads_runs_on_a_trusted_server_and_is_asked_about_on_another() {
    for annotations in [READS, SENDS] {
        let tool = tool(annotations);
        assert_eq!(decide(&tool, Trust::Trusted, &[]), Ruling::Run(Grant::Trusted));
        assert!(matches!(decide(&tool, Trust::Untrusted, &[]), Ruling::Ask { .. }));
    }
}

#[test]
fn what_changes_something_or_does_not_say_is_always_asked_about() {
    let says_so = Annotations { read_only: Some(false), ..SILENT };
    for annotations in [SILENT, says_so] {
        let ruling = decide(&tool(annotations), Trust::Trusted, &[]);
        assert_eq!(extents_of(&ruling), [Extent::Once, Extent::Session]);
    }
}

#[test]
fn always_is_offered_and_honoured_only_for_what_neither_changes_nor_sends() {
    assert!(extents_of(&decide(&tool(READS), Trust::Untrusted, &[])).contains(&Extent::Always));
    let kept = [yes(None)];
    assert_eq!(decide(&tool(READS), Trust::Untrusted, &kept), Ruling::Run(Grant::Always));
    for annotations in [SENDS, SILENT] {
        let ruling = decide(&tool(annotations), Trust::Untrusted, &kept);
        assert!(!extents_of(&ruling).contains(&Extent::Always));
    }
}

#[test]
fn a_yes_holds_for_its_session_its_person_its_definition_and_its_time() {
    let tool = tool(SILENT);
    let kept = [yes(Some("s1"))];
    assert_eq!(decide(&tool, Trust::Untrusted, &kept), Ruling::Run(Grant::Session));
    let asks = |here: Circumstances<'_>, tool: &Definition| {
        let ruling = rule(tool, &rules(Trust::Untrusted), Standing::Known, &kept, &here);
        assert!(matches!(ruling, Ruling::Ask { .. }), "{ruling:?}");
    };
    asks(Circumstances { session: Some("s2"), ..here() }, &tool);
    asks(Circumstances { principal: "key:ab", ..here() }, &tool);
    asks(Circumstances { now: Timestamp(1_000), ..here() }, &tool);
    asks(here(), &Definition { pin: "other".to_owned(), ..tool.clone() });
}

#[test]
fn a_tool_that_changed_or_is_new_is_off_until_it_was_seen() {
    for standing in [Standing::New, Standing::Changed] {
        let kept = [yes(None), yes(Some("s1"))];
        let ruling = rule(&tool(READS), &rules(Trust::Trusted), standing, &kept, &here());
        assert!(matches!(ruling, Ruling::Hold(_)), "{ruling:?}");
    }
}

#[test]
fn pins_tell_known_new_and_changed_apart() {
    let seen = tool(READS);
    let pins = Pins::of(std::slice::from_ref(&seen));
    assert_eq!(pins.standing(&seen), Standing::Known);
    assert_eq!(
        pins.standing(&Definition { pin: "x".to_owned(), ..seen.clone() }),
        Standing::Changed
    );
    assert_eq!(pins.standing(&Definition { original: "y".to_owned(), ..seen }), Standing::New);
}

#[test]
fn lists_of_the_configuration_come_first() {
    let check = |allow: &[&str], deny: &[&str], name: &str, expected: bool| {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let rules = ServerRules { trust: Trust::Trusted, allow: list(allow), deny: list(deny) };
        assert_eq!(rules.admit(name), expected, "{allow:?} {deny:?} {name}");
    };
    check(&[], &[], "write", true);
    check(&["read_*"], &[], "read_file", true);
    check(&["read_*"], &[], "write_file", false);
    check(&[], &["write*"], "write_file", false);
    check(&["*"], &["delete"], "delete", false);
    check(&["a/b"], &[], "a/b", true);
    check(&["b"], &[], "a/b", false);
    let closed = ServerRules { deny: vec!["use".to_owned()], ..rules(Trust::Trusted) };
    let ruling = rule(&tool(READS), &closed, Standing::Known, &[yes(None)], &here());
    assert!(matches!(ruling, Ruling::Refuse(_)));
}

#[test]
fn what_hides_something_is_never_trusted_and_an_imitation_is_refused() {
    let hidden = Finding::Invisible { place: "name".to_owned(), count: 1 };
    let marked = Definition { findings: vec![hidden], ..tool(READS) };
    let ruling = decide(&marked, Trust::Trusted, &[]);
    assert_eq!(extents_of(&ruling), [Extent::Once, Extent::Session]);
    let Ruling::Ask { reasons, .. } = ruling else { panic!() };
    assert!(reasons.iter().any(|reason| reason.contains("cannot be seen")));
    let twin = Finding::LooksLike { tool: "search".to_owned() };
    let imitation = Definition { findings: vec![twin], ..tool(READS) };
    assert!(matches!(decide(&imitation, Trust::Trusted, &[yes(None)]), Ruling::Refuse(_)));
}

#[test]
fn without_anybody_to_ask_only_what_is_granted_runs() {
    let alone = Circumstances { attendance: Attendance::Unattended, ..here() };
    let decide = |tool: &Definition, approvals: &[Approval]| {
        rule(tool, &rules(Trust::Untrusted), Standing::Known, approvals, &alone)
    };
    assert!(matches!(decide(&tool(SILENT), &[]), Ruling::Refuse(_)));
    assert_eq!(decide(&tool(SILENT), &[yes(Some("s1"))]), Ruling::Run(Grant::Session));
}

#[test]
fn a_model_that_read_strangers_gets_a_fresh_yes_for_what_carries_data_out() {
    let led = Circumstances { influence: Influence::Strangers, ..here() };
    let kept = [yes(Some("s1"))];
    let decide =
        |tool: &Definition| rule(tool, &rules(Trust::Trusted), Standing::Known, &kept, &led);
    assert_eq!(extents_of(&decide(&tool(SILENT))), [Extent::Once]);
    let at_home = Annotations { open_world: Some(false), ..SILENT };
    assert_eq!(decide(&tool(at_home)), Ruling::Run(Grant::Session));
    assert_eq!(decide(&tool(READS)), Ruling::Run(Grant::Trusted));
}

#[test]
fn outside_of_a_session_no_yes_is_offered_for_one() {
    let nowhere = Circumstances { session: None, ..here() };
    let ruling = rule(&tool(SILENT), &rules(Trust::Untrusted), Standing::Known, &[], &nowhere);
    assert_eq!(extents_of(&ruling), [Extent::Once]);
}
