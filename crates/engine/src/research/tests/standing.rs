//! Runs that stand on a finished one: whose it is, what they take over, and what they call.

use agent::identity::Principal;
use agent::research::order::Basis;

use super::*;

fn caller(name: &str) -> Principal {
    Principal { tenant: samples::tenant("mine"), name: name.to_owned(), scopes: vec![] }
}

fn service(world: &World) -> Research {
    Research::new(world.process(), ResearchRules::default())
}

/// Asks, and waits for the end.
async fn done(world: &World, research: &Research, who: &Principal, asked: Asked) -> (Uuid, Seen) {
    world.drawn.fetch_add(1, Ordering::SeqCst);
    let id = research.create(who, asked).await.unwrap().line.id;
    (id, last_of(research, who, id).await)
}

async fn last_of(research: &Research, who: &Principal, id: Uuid) -> Seen {
    let mut watching = research.watch(who, id, 0).await.unwrap();
    loop {
        match watching.next().await.unwrap() {
            Seen::Said(_) => {}
            last => return last,
        }
    }
}

fn asked(question: &str) -> Asked {
    let approval = Some(Approval::Given);
    Asked { question: question.to_owned(), approval, ..Asked::default() }
}

const ALERTS: &str = "How do budget alerts work and what do they cost?";
const MAIL: &str = "Do budget alerts go to the owner by mail?";

#[tokio::test]
async fn a_question_that_follows_a_report_cites_what_it_found_and_searches_nothing() {
    let world = World::new(None);
    let (research, mina) = (service(&world), caller("mina"));
    let (first, _) = done(&world, &research, &mina, asked(ALERTS)).await;
    let searched = world.calls();
    let follows = Asked { follows: Some(first), ..asked(MAIL) };
    let (second, last) = done(&world, &research, &mina, follows).await;
    assert_eq!(world.calls(), searched, "nothing was searched");
    let Seen::Over(Over::Ended { report: Some(report), .. }) = last else { panic!("{last:?}") };
    assert!(report.claims().count() > 0 && report.unsupported() == 0);
    for citation in report.claims().flat_map(|claim| &claim.citations) {
        let stands = |(_, text): &(&str, &str)| {
            let range = citation.start.try_into().unwrap()..citation.end.try_into().unwrap();
            text.get::<std::ops::Range<usize>>(range) == Some(citation.quote.as_str())
        };
        assert!(TEXTS.iter().any(stands), "{citation:?}");
    }
    let view = research.view(&mina, second).await.unwrap();
    assert_eq!(view.line.basis, Some(Basis::Follows { run: first }));
    // What it took over is its own: the first run may go.
    research.forget(&mina, first).await.unwrap();
    assert_eq!(research.report(&mina, second).await.unwrap(), *report);
}

#[tokio::test]
async fn somebody_elses_run_and_none_at_all_look_the_same_to_whoever_would_stand_on_it() {
    let world = World::new(None);
    let (research, mina, joon) = (service(&world), caller("mina"), caller("joon"));
    let (run, _) = done(&world, &research, &mina, asked(ALERTS)).await;
    let unknown = Uuid::from_random([99; 16]);
    let mut told = Vec::new();
    for (who, id) in [(&joon, run), (&mina, unknown)] {
        let follows = Asked { follows: Some(id), ..asked(MAIL) };
        told.push(research.create(who, follows).await.unwrap_err().to_string());
        told.push(research.again(who, id, 1).await.unwrap_err().to_string());
    }
    let other = Principal { tenant: samples::tenant("other"), ..caller("mina") };
    let follows = Asked { follows: Some(run), ..asked(MAIL) };
    told.push(research.create(&other, follows).await.unwrap_err().to_string());
    research.forget(&mina, run).await.unwrap();
    told.push(research.again(&mina, run, 1).await.unwrap_err().to_string());
    let absent = EngineError::Absent { what: "run" }.to_string();
    assert!(told.iter().all(|words| *words == absent), "{told:?}");
}

#[tokio::test]
async fn a_run_without_a_report_cannot_be_stood_on() {
    let world = World::new(None);
    let (research, mina) = (service(&world), caller("mina"));
    let waiting = Asked { approval: Some(Approval::Asked), ..asked(ALERTS) };
    let id = research.create(&mina, waiting).await.unwrap().line.id;
    let follows = Asked { follows: Some(id), ..asked(MAIL) };
    let early = research.create(&mina, follows.clone()).await.unwrap_err();
    assert!(matches!(&early, EngineError::Conflict(why) if why.contains("not ended")), "{early}");
    research.steer(&mina, id, Steering::Stop).await.unwrap();
    last_of(&research, &mina, id).await;
    let stopped = research.create(&mina, follows).await.unwrap_err();
    assert!(matches!(&stopped, EngineError::Conflict(why) if why.contains("no report")));
    let again = research.again(&mina, id, 1).await.unwrap_err();
    assert!(matches!(again, EngineError::Conflict(_)), "{again}");
}

#[tokio::test]
async fn a_conversation_follows_its_own_last_report() {
    let world = World::new(None);
    let (research, mina, joon) = (service(&world), caller("mina"), caller("joon"));
    let of = |name: &str, question: &str| Asked {
        conversation: Some(name.to_owned()),
        ..asked(question)
    };
    let (first, _) = done(&world, &research, &mina, of("a2a:1", ALERTS)).await;
    let basis = async |who: &Principal, asked: Asked| {
        let (id, _) = done(&world, &research, who, asked).await;
        research.view(who, id).await.unwrap().line.basis
    };
    assert_eq!(basis(&joon, of("a2a:1", MAIL)).await, None, "another's conversation");
    assert_eq!(basis(&mina, of("a2a:2", MAIL)).await, None, "another conversation");
    let expected = Some(Basis::Follows { run: first });
    assert_eq!(basis(&mina, of("a2a:1", MAIL)).await, expected);
}

#[tokio::test]
async fn a_step_is_done_anew_with_what_the_others_found_over_any_number_of_deaths() {
    let world = World::new(Some(model()));
    let (research, mina) = (service(&world), caller("mina"));
    let (first, _) = done(&world, &research, &mina, asked(ALERTS)).await;
    let absent = research.again(&mina, first, 9).await.unwrap_err();
    assert!(matches!(absent, EngineError::Absent { what: "step" }), "{absent}");
    world.shelf.asked.lock().unwrap().clear();
    world.drawn.fetch_add(1, Ordering::SeqCst);
    let second = research.again(&mina, first, 2).await.unwrap().line;
    assert_eq!(second.basis, Some(Basis::Again { run: first, step: 2 }));
    let Seen::Over(Over::Ended { report: Some(expected), .. }) =
        last_of(&research, &mina, second.id).await
    else {
        panic!()
    };
    assert_eq!(*world.shelf.asked.lock().unwrap(), ["cost"], "nothing is called for other steps");
    let run = world.process().run(&world.tenant, second.id).await.unwrap().unwrap();
    let at_hand: Vec<&str> = run.sources().iter().map(|source| source.title.as_str()).collect();
    assert!(at_hand.contains(&"alerts.md") && at_hand.contains(&"costs.md"), "{at_hand:?}");
    let wanted = Wanted {
        basis: Some(Basis::Again { run: first, step: 2 }),
        principal: "mina".to_owned(),
        ..wanted(Approval::Given)
    };
    let mut cuts = 0;
    for writes in 1.. {
        world.drawn.fetch_add(1, Ordering::SeqCst);
        world.shelf.asked.lock().unwrap().clear();
        world.journals.break_after(Some(writes));
        let following = world.process().begin(&world.tenant, wanted.clone()).await.unwrap();
        let id = following.id;
        let (_, last) = to_the_end(following).await;
        world.journals.break_after(None);
        if !matches!(last, Told::Failed(_)) {
            break;
        }
        cuts += 1;
        let following = world.process().resume(&world.tenant, id).await.unwrap();
        let resumed = report(to_the_end(following).await.1);
        assert_eq!(resumed.sections, renamed(&expected, &resumed), "cut after {writes} writes");
        let asked = world.shelf.asked.lock().unwrap().clone();
        assert!(asked.iter().all(|query| query == "cost"), "{asked:?}");
    }
    assert!(cuts > 5, "{cuts}");
}

/// The sections of a report with the sources of another, which differ in nothing but their names.
fn renamed(report: &Report, like: &Report) -> Vec<agent::research::report::Section> {
    let mut sections = report.sections.clone();
    for citation in
        sections.iter_mut().flat_map(|it| &mut it.claims).flat_map(|claim| &mut claim.citations)
    {
        let number = report.number(citation.source_id).unwrap();
        citation.source_id = like.sources[number - 1].id;
    }
    sections
}

#[tokio::test]
async fn a_step_done_anew_passes_by_what_is_remembered() {
    let world = World { has_web: true, ..World::new(None) };
    let (research, mina) = (service(&world), caller("mina"));
    let sources = vec!["brave".parse().unwrap()];
    let (first, _) = done(&world, &research, &mina, Asked { sources, ..asked(ALERTS) }).await;
    let fresh = |of: &Freshness| *of == Freshness::MustBeFresh;
    let before = std::mem::take(&mut *world.web_asked.lock().unwrap());
    assert!(!before.is_empty() && !before.iter().any(fresh), "{before:?}");
    world.drawn.fetch_add(1, Ordering::SeqCst);
    let second = research.again(&mina, first, 1).await.unwrap().line.id;
    let last = last_of(&research, &mina, second).await;
    let Seen::Over(Over::Ended { report: Some(report), .. }) = last else { panic!("{last:?}") };
    let anew = world.web_asked.lock().unwrap().clone();
    assert!(!anew.is_empty() && anew.iter().all(fresh), "{anew:?}");
    assert!(report.notes.iter().any(|note| note.contains("step 1")), "{:?}", report.notes);
    let kept = world.journals.run(&world.tenant, second).await.unwrap().unwrap();
    let run = replayed(kept).unwrap();
    assert_eq!(run.order().providers.len(), 1, "the places that the first run had searched");
}
