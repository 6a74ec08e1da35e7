//! Questions asked of a small server.
//!
//! `$0 work` has `@0 editor` (current; panes `%0` vim, active, and `%1` sh) and `@1 logs` (one
//! dead pane, `%2`, status 3); `$1 Work2` has `@1 logs` too (current) and `@2 é☃` (pane `%3`
//! without a path). Two clients, one of them without a session.

use super::{Criteria, CriteriaError, Entity, Item, Test, Where, json_schema};
use crate::client::Server;
use crate::model::{
    ClientInfo, Pane, PaneId, Session, SessionId, Snapshot, Window, WindowId, WindowLink,
};

fn session(number: u32, name: &'static str, windows: u32) -> Session {
    Session {
        id: SessionId::new(number),
        created: 100,
        activity: 200,
        attached: number,
        window_count: windows,
        name: name.into(),
        group: None,
    }
}

fn window(number: u32, name: &'static str, panes: u32) -> Window {
    Window {
        id: WindowId::new(number),
        width: 80,
        height: 24,
        pane_count: panes,
        zoomed: false,
        activity: 0,
        name: name.into(),
        layout: "b25d,80x24,0,0,0".into(),
    }
}

fn link(session: u32, index: u32, window: u32, active: bool) -> WindowLink {
    let (session_id, window_id) = (SessionId::new(session), WindowId::new(window));
    WindowLink { session_id, window_id, index, active }
}

fn pane(number: u32, window: u32, active: bool, command: &'static str) -> Pane {
    Pane {
        id: PaneId::new(number),
        window_id: WindowId::new(window),
        index: number,
        pid: 1000 + number,
        active,
        dead: number == 2,
        dead_status: (number == 2).then_some(3),
        width: 80,
        height: 12,
        in_mode: false,
        alternate_on: false,
        history_size: 0,
        current_command: command.into(),
        current_path: (number != 3).then(|| "/home".into()),
        title: "title".into(),
    }
}

fn client(pid: u32, session: Option<u32>) -> ClientInfo {
    ClientInfo {
        pid,
        created: 5,
        session_id: session.map(SessionId::new),
        width: Some(80),
        height: None,
        read_only: false,
        utf8: true,
        control_mode: session.is_none(),
        name: "client".into(),
        tty: None,
    }
}

fn snapshot() -> Snapshot {
    let snapshot = Snapshot {
        reply_len: 0,
        server: Server::for_tests(),
        sessions: vec![session(0, "work", 2), session(1, "Work2", 2)],
        windows: vec![window(0, "editor", 2), window(1, "logs", 1), window(2, "é☃", 1)],
        links: vec![
            link(0, 0, 0, true),
            link(0, 1, 1, false),
            link(1, 0, 1, true),
            link(1, 5, 2, false),
        ],
        panes: vec![
            pane(0, 0, true, "vim"),
            pane(1, 0, false, "sh"),
            pane(2, 1, true, "make"),
            pane(3, 2, true, "sh"),
        ],
        clients: vec![client(10, Some(0)), client(11, None)],
    };
    assert_eq!(snapshot.check(), Ok(()));
    snapshot
}

fn criteria(entity: Entity, filter: &str) -> Result<Criteria, CriteriaError> {
    let name = entity.name();
    let document = format!(
        r#"{{"profile":"libtmux-ruby.where","version":1,"entity":"{name}","where":{filter}}}"#
    );
    let validator = jsonschema::validator_for(&json_schema()).unwrap();
    let read = Criteria::from_json(document.as_bytes());
    if read.is_ok() {
        let document = serde_json::from_str(&document).unwrap();
        assert!(validator.is_valid(&document), "the schema refuses {filter}");
    }
    read
}

/// The ids of what matches, or the indexes and process ids of links and clients.
fn ask(entity: Entity, filter: &str) -> String {
    let snapshot = snapshot();
    let criteria = criteria(entity, filter).unwrap_or_else(|error| panic!("{filter}: {error}"));
    let id = |item: &Item<'_>| match item {
        Item::Session(row) => row.id.to_string(),
        Item::Window(row) => row.id.to_string(),
        Item::Pane(row) => row.id.to_string(),
        Item::WindowLink(row) => format!("{}:{}", row.session_id, row.index),
        Item::Client(row) => row.pid.to_string(),
    };
    let ids: Vec<String> = criteria.select(&snapshot).unwrap().iter().map(id).collect();
    ids.join(" ")
}

#[test]
fn values_are_compared_exactly() {
    for (filter, expected) in [
        ("{}", "%0 %1 %2 %3"),
        (r#"{"currentCommand":"sh"}"#, "%1 %3"),
        (r#"{"currentCommand":{"equals":"SH"}}"#, ""),
        (r#"{"currentCommand":{"not":"sh"}}"#, "%0 %2"),
        (r#"{"currentCommand":{"in":["vim","make"]}}"#, "%0 %2"),
        (r#"{"currentCommand":{"in":[]}}"#, ""),
        (r#"{"currentCommand":{"contains":"i"}}"#, "%0"),
        (r#"{"currentCommand":{"startsWith":"m","endsWith":"e"}}"#, "%2"),
        (r#"{"currentCommand":{"not":{"startsWith":"s"}}}"#, "%0 %2"),
        (r#"{"dead":true}"#, "%2"),
        (r#"{"dead":{"not":true},"active":true}"#, "%0 %3"),
        (r#"{"id":"%2"}"#, "%2"),
        (r#"{"id":"%02"}"#, ""),
        (r#"{"id":{"in":["%0","@1","x"]}}"#, "%0"),
        (r#"{"windowId":"@0"}"#, "%0 %1"),
        (r#"{"pid":{"gt":1001}}"#, "%2 %3"),
        (r#"{"pid":{"gte":1001,"lt":1003}}"#, "%1 %2"),
        (r#"{"pid":{"lte":1000}}"#, "%0"),
        (r#"{"index":-0}"#, "%0"),
        (r#"{"index":{"gt":-0}}"#, "%1 %2 %3"),
    ] {
        assert_eq!(ask(Entity::Pane, filter), expected, "{filter}");
    }
    assert_eq!(ask(Entity::Window, r#"{"name":"é☃"}"#), "@2");
    assert_eq!(ask(Entity::Window, "{\"name\":\"e\u{301}☃\"}"), "", "composed is not decomposed");
    assert_eq!(ask(Entity::Window, r#"{"name":"\u00e9\u2603"}"#), "@2");
}

#[test]
fn null_equals_null_and_is_in_no_order() {
    for (filter, expected) in [
        (r#"{"deadStatus":null}"#, "%0 %1 %3"),
        (r#"{"deadStatus":{"equals":null}}"#, "%0 %1 %3"),
        (r#"{"deadStatus":{"not":null}}"#, "%2"),
        (r#"{"deadStatus":{"in":[null,7]}}"#, "%0 %1 %3"),
        (r#"{"deadStatus":3}"#, "%2"),
        (r#"{"deadStatus":{"not":3}}"#, "%0 %1 %3"),
        (r#"{"deadStatus":{"lt":255}}"#, "%2"),
        (r#"{"deadStatus":{"gte":0}}"#, "%2"),
        (r#"{"deadStatus":{"not":{"gte":0}}}"#, "%0 %1 %3"),
        (r#"{"currentPath":{"contains":""}}"#, "%0 %1 %2"),
        (r#"{"currentPath":null}"#, "%3"),
    ] {
        assert_eq!(ask(Entity::Pane, filter), expected, "{filter}");
    }
}

#[test]
fn each_operator_has_its_own_answer_to_null() {
    let null = |field, test: &str| ask(Entity::Pane, &format!(r#"{{"{field}":{test}}}"#));
    // Of `deadStatus` all but `%2` have none, of `currentPath` `%3` alone.
    for operator in ["lt", "lte", "gt", "gte"] {
        let bound = if operator.starts_with('l') { 255 } else { 0 };
        assert_eq!(null("deadStatus", &format!(r#"{{"{operator}":{bound}}}"#)), "%2", "{operator}");
        let not = format!(r#"{{"not":{{"{operator}":{bound}}}}}"#);
        assert_eq!(null("deadStatus", &not), "%0 %1 %3", "{operator}");
    }
    for operator in ["contains", "startsWith", "endsWith"] {
        let test = format!(r#"{{"{operator}":""}}"#);
        assert_eq!(null("currentPath", &test), "%0 %1 %2", "{operator}");
        assert_eq!(null("currentPath", &format!(r#"{{"not":{test}}}"#)), "%3", "{operator}");
    }
    for (test, expected) in [
        ("null", "%3"),
        (r#"{"equals":null}"#, "%3"),
        (r#"{"not":null}"#, "%0 %1 %2"),
        (r#"{"not":{"equals":null}}"#, "%0 %1 %2"),
        (r#"{"not":{"not":null}}"#, "%3"),
        (r#"{"not":"/home"}"#, "%3"),
        (r#"{"in":[null]}"#, "%3"),
        (r#"{"in":["/home",null]}"#, "%0 %1 %2 %3"),
        (r#"{"in":["/home"]}"#, "%0 %1 %2"),
        (r#"{"not":{"in":["/home"]}}"#, "%3"),
    ] {
        assert_eq!(null("currentPath", test), expected, "{test}");
    }
    let operators = ["lt", "lte", "gt", "gte", "contains", "startsWith", "endsWith"];
    let ordered = operators.map(|operator| {
        let field = if operator.len() < 4 { "deadStatus" } else { "currentPath" };
        format!(r#"{{"{field}":{{"{operator}":null}}}}"#)
    });
    let not_nullable = ["title", "index", "dead", "id"].map(|field| {
        [r#"null"#, r#"{"equals":null}"#, r#"{"not":null}"#, r#"{"in":[null]}"#]
            .map(|test| format!(r#"{{"{field}":{test}}}"#))
    });
    for filter in ordered.iter().chain(not_nullable.as_flattened()) {
        let error = criteria(Entity::Pane, filter).unwrap_err();
        assert!(matches!(error, CriteriaError::Test { .. }), "{filter}: {error}");
    }
}

#[test]
fn empty_combinations_have_their_own_truth() {
    for (filter, expected) in [
        (r#"{"and":[]}"#, "$0 $1"),
        (r#"{"or":[]}"#, ""),
        (r#"{"not":{}}"#, ""),
        (r#"{"not":{"or":[]}}"#, "$0 $1"),
        (r#"{"or":[{"name":"work"},{"attached":1}]}"#, "$0 $1"),
        (r#"{"and":[{"name":"work"},{"attached":1}]}"#, ""),
        (r#"{"name":"work","not":{"attached":1}}"#, "$0"),
    ] {
        assert_eq!(ask(Entity::Session, filter), expected, "{filter}");
    }
}

#[test]
fn relations_to_many_take_some_every_and_none() {
    for (entity, filter, expected) in [
        (Entity::Session, r#"{"panes":{"some":{"currentCommand":"vim"}}}"#, "$0"),
        (Entity::Session, r#"{"panes":{"some":{"dead":true}}}"#, "$0 $1"),
        (Entity::Session, r#"{"panes":{"none":{"currentCommand":"vim"}}}"#, "$1"),
        (Entity::Session, r#"{"windows":{"every":{"paneCount":1}}}"#, "$1"),
        (Entity::Session, r#"{"windowLinks":{"some":{"index":5}}}"#, "$1"),
        (Entity::Window, r#"{"windowLinks":{"every":{"active":true}}}"#, "@0"),
        (Entity::Window, r#"{"windowLinks":{"some":{"sessionId":"$1"}}}"#, "@1 @2"),
        (Entity::Window, r#"{"panes":{"some":{},"none":{"dead":true}}}"#, "@0 @2"),
        // The same window must have both: it is not enough that the session has one of each.
        (
            Entity::Session,
            r#"{"windows":{"some":{"name":"é☃","panes":{"some":{"dead":true}}}}}"#,
            "",
        ),
        (
            Entity::Session,
            r#"{"windows":{"some":{"name":"logs","panes":{"some":{"dead":true}}}}}"#,
            "$0 $1",
        ),
    ] {
        assert_eq!(ask(entity, filter), expected, "{filter}");
    }
    let mut empty = snapshot();
    empty.panes.clear();
    for (quantifier, count) in [("some", 0), ("every", 3), ("none", 3)] {
        let filter = format!(r#"{{"panes":{{"{quantifier}":{{}}}}}}"#);
        let criteria = criteria(Entity::Window, &filter).unwrap();
        assert_eq!(criteria.select(&empty).unwrap().len(), count, "{quantifier}");
    }
}

#[test]
fn relations_to_one_take_is_and_is_not() {
    for (entity, filter, expected) in [
        (Entity::Session, r#"{"currentWindow":{"is":{"name":"logs"}}}"#, "$1"),
        (Entity::Session, r#"{"currentWindow":{"isNot":{"name":"logs"}}}"#, "$0"),
        (Entity::Session, r#"{"currentWindow":{"isNot":null}}"#, "$0 $1"),
        (Entity::Window, r#"{"activePane":{"is":{"currentCommand":"sh"}}}"#, "@2"),
        (Entity::Window, r#"{"activePane":{"is":null}}"#, ""),
        (Entity::Pane, r#"{"window":{"is":{"name":"editor"}}}"#, "%0 %1"),
        (Entity::Pane, r#"{"window":{"isNot":{"windowLinks":{"some":{"sessionId":"$0"}}}}}"#, "%3"),
        (Entity::WindowLink, r#"{"session":{"is":{"name":"work"}},"active":false}"#, "$0:1"),
        (Entity::WindowLink, r#"{"window":{"is":{"panes":{"some":{"dead":true}}}}}"#, "$0:1 $1:0"),
        (Entity::Client, r#"{"session":{"is":{"name":"work"}}}"#, "10"),
        (Entity::Client, r#"{"session":{"is":null}}"#, "11"),
        (Entity::Client, r#"{"session":{"isNot":{"name":"work"}}}"#, "11"),
        (Entity::Client, r#"{"session":{"isNot":null},"utf8":true}"#, "10"),
        (Entity::Client, r#"{"tty":null,"height":null,"sessionId":{"not":null}}"#, "10"),
    ] {
        assert_eq!(ask(entity, filter), expected, "{filter}");
    }
}

#[test]
fn what_is_absent_is_null_and_is_nothing_else() {
    let mut absent = snapshot();
    absent.links.iter_mut().for_each(|link| link.active &= link.session_id.number() == 0);
    absent.panes.iter_mut().for_each(|pane| pane.active &= pane.window_id.number() == 0);
    for (entity, relation, all) in
        [(Entity::Session, "currentWindow", 2), (Entity::Window, "activePane", 3)]
    {
        // One has it, the others do not; none has one like this.
        for (test, matches) in [
            (r#"{"is":null}"#, all - 1),
            (r#"{"isNot":null}"#, 1),
            (r#"{"is":{}}"#, 1),
            (r#"{"isNot":{}}"#, all - 1),
            (r#"{"is":{"width":1}}"#, 0),
            (r#"{"isNot":{"width":1}}"#, all),
            (r#"{"is":{"not":{"width":1}}}"#, 1),
            (r#"{"isNot":null,"is":{"width":80}}"#, 1),
        ] {
            let filter = format!(r#"{{"{relation}":{test}}}"#);
            let found = criteria(entity, &filter).unwrap().select(&absent).unwrap();
            assert_eq!(found.len(), matches, "{filter}");
        }
    }
}

#[test]
fn what_does_not_fit_its_field_is_refused_in_branches_that_are_never_taken_too() {
    for (entity, filter) in [
        (Entity::Pane, r#"{"dead":1}"#),
        (Entity::Pane, r#"{"dead":"true"}"#),
        (Entity::Pane, r#"{"dead":null}"#),
        (Entity::Pane, r#"{"index":true}"#),
        (Entity::Pane, r#"{"index":"1"}"#),
        (Entity::Pane, r#"{"title":{"lt":1}}"#),
        (Entity::Pane, r#"{"pid":{"contains":"1"}}"#),
        (Entity::Pane, r#"{"id":{"startsWith":"%"}}"#),
        (Entity::Pane, r#"{"id":0}"#),
        (Entity::Pane, r#"{"deadStatus":{"lt":null}}"#),
        (Entity::Pane, r#"{"dead":{"lt":true}}"#),
        (Entity::Pane, r#"{"title":{"some":{}}}"#),
        (Entity::Pane, r#"{"window":{"some":{}}}"#),
        (Entity::Pane, r#"{"window":{"is":null}}"#),
        (Entity::Pane, r#"{"window":"@0"}"#),
        (Entity::Session, r#"{"panes":{"is":{}}}"#),
        (Entity::Session, r#"{"panes":{"equals":1}}"#),
        (Entity::Pane, r#"{"or":[{},{"dead":1}]}"#),
    ] {
        let error = criteria(entity, filter).unwrap_err();
        assert!(matches!(error, CriteriaError::Test { .. }), "{filter}: {error}");
    }
    for (entity, filter) in [
        (Entity::Pane, r#"{"current_command":"sh"}"#),
        (Entity::Pane, r#"{"panes":{"some":{}}}"#),
        (Entity::Session, r#"{"windows":{"some":{"dead":true}}}"#),
        (Entity::Window, r#"{"or":[{},{"nothing":1}]}"#),
    ] {
        let error = criteria(entity, filter).unwrap_err();
        assert!(matches!(error, CriteriaError::Name { .. }), "{filter}: {error}");
    }
    for (entity, filter) in [
        (Entity::Pane, r#"{"index":-1}"#),
        (Entity::Pane, r#"{"pid":2147483648}"#),
        (Entity::Pane, r#"{"deadStatus":256}"#),
        (Entity::WindowLink, r#"{"index":{"in":[0,-1]}}"#),
        (Entity::Session, r#"{"attached":4294967296}"#),
    ] {
        let error = criteria(entity, filter).unwrap_err();
        assert!(matches!(error, CriteriaError::Range { .. }), "{filter}: {error}");
    }
    assert!(criteria(Entity::Pane, r#"{"pid":2147483647}"#).is_ok());
}

#[test]
fn every_bound_holds_to_the_last_and_not_one_further() {
    let pane = |filter: &str| criteria(Entity::Pane, filter);
    let text = |length: usize| format!(r#"{{"title":"{}"}}"#, "x".repeat(length));
    let members = |count: usize, member: &str| vec![member; count].join(",");
    let within_in = |count| format!(r#"{{"pid":{{"in":[{}]}}}}"#, members(count, "1"));
    let within_or = |count| format!(r#"{{"or":[{}]}}"#, members(count, "{}"));
    let nested = |count: usize| format!("{}{{}}{}", r#"{"not":"#.repeat(count), "}".repeat(count));
    let texts = |count: usize| {
        let one = text(60_000);
        format!(r#"{{"or":[{}]}}"#, members(count, &one))
    };
    for (last, further, limit) in [
        (text(65_536), text(65_537), 65_536),
        (within_in(1_024), within_in(1_025), 1_024),
        (within_or(2_047), within_or(2_048), 2_048),
        (nested(32), nested(33), 32),
        (nested(32), nested(40), 32),
        (texts(4), texts(5), 262_144),
    ] {
        assert!(pane(&last).is_ok(), "{limit}: {:?}", pane(&last));
        let error = pane(&further).unwrap_err();
        assert!(
            matches!(error, CriteriaError::Bound { limit: found, .. } if found == limit),
            "{error}"
        );
    }
    let error = pane(&within_or(2_049)).unwrap_err();
    assert_eq!(error, CriteriaError::Bound { what: "members of and or or", limit: 2_048 });
}

#[test]
fn questions_built_in_rust_are_checked_alike() {
    let wrong = Criteria::new(Entity::Pane, Where::field("dead", Test::equals("true")));
    assert!(matches!(wrong, Err(CriteriaError::Test { .. })));
    let dead = Where::some(
        "windows",
        Where::some("panes", Where::field("deadStatus", Test::equals(3u32))),
    );
    let criteria = Criteria::new(Entity::Session, Where::all([dead])).unwrap();
    assert_eq!(criteria.select(&snapshot()).unwrap().len(), 2);
}

#[test]
fn a_named_text_that_is_not_utf_8_is_refused_in_branches_that_are_never_taken_too() {
    let mut snapshot = snapshot();
    snapshot.panes[1].current_path = Some(bytes::Bytes::from_static(b"/\xff").into());
    let select = |entity, filter| criteria(entity, filter).unwrap().select(&snapshot).map(|_| ());
    let refused = Err(CriteriaError::Undecodable { name: "currentPath", entity: "pane" });
    for (entity, filter) in [
        (Entity::Pane, r#"{"currentPath":"/home"}"#),
        (Entity::Pane, r#"{"or":[{},{"currentPath":null}]}"#),
        (Entity::Pane, r#"{"and":[{"or":[]},{"not":{"currentPath":{"contains":"x"}}}]}"#),
        (Entity::Session, r#"{"panes":{"none":{"currentPath":"/"}},"id":"$9"}"#),
    ] {
        assert_eq!(select(entity, filter), refused, "{filter}");
    }
    for filter in ["{}", r#"{"title":"x"}"#, r#"{"window":{"is":{"name":"x"}}}"#] {
        assert_eq!(select(Entity::Pane, filter), Ok(()), "{filter}");
    }
}

#[test]
fn relations_in_relations_are_followed_once_for_each_thing() {
    // 40 panes in one window: five hops to it and back are 40⁵ ways.
    let mut snapshot = snapshot();
    snapshot.panes = (0..40).map(|number| pane(number, 0, number == 0, "sh")).collect();
    let mut filter = r#"{"title":"none"}"#.to_owned();
    for _ in 0..5 {
        filter = format!(r#"{{"window":{{"is":{{"panes":{{"some":{filter}}}}}}}}}"#);
    }
    let criteria = criteria(Entity::Pane, &filter).unwrap();
    let start = std::time::Instant::now();
    assert_eq!(criteria.select(&snapshot).unwrap().len(), 0);
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
}

#[test]
fn bytes_that_an_item_cannot_show_are_counted_if_there_are_any() {
    let mut snapshot = snapshot();
    snapshot.panes[1].current_path = Some(bytes::Bytes::from_static(b"/\xff").into());
    snapshot.panes[1].title = bytes::Bytes::from_static(b"\xe2\x98 \xef\xbf\xbd").into();
    for pane in &snapshot.panes {
        let count = if pane.id.number() == 1 { 3.into() } else { serde_json::Value::Null };
        // The row says the same as the item.
        assert_eq!(serde_json::to_value(Item::Pane(pane)).unwrap()["replaced_bytes"], count);
        assert_eq!(serde_json::to_value(pane).unwrap()["replaced_bytes"], count);
    }
    snapshot.sessions[0].group = Some(bytes::Bytes::from_static(b"\x80").into());
    let session = &snapshot.sessions[0];
    // An item of a session does not show its group.
    assert!(serde_json::to_value(Item::Session(session)).unwrap().get("replaced_bytes").is_none());
    assert_eq!(serde_json::to_value(session).unwrap()["replaced_bytes"], 1);
}

#[test]
fn a_filter_on_what_a_relation_leads_to_is_asked_once_of_each_thing() {
    // One window's long name, 600 times: enough for one pane, far too much for 400.
    let mut snapshot = snapshot();
    let long: &'static str = Box::leak("a".repeat(60_000).into_boxed_str());
    snapshot.windows[0].name = long.into();
    snapshot.panes = (0..400).map(|number| pane(number, 0, number == 0, "sh")).collect();
    for (end, matches) in [("b", 0), ("", 400)] {
        let text = Test::contains(&format!("{}{end}", "a".repeat(300)));
        let or = Where::any(vec![Where::field("name", text); 600]);
        let question = Criteria::new(Entity::Pane, Where::is("window", Some(or))).unwrap();
        assert_eq!(question.select(&snapshot).unwrap().len(), matches);
    }
}

#[test]
fn an_item_shows_the_fields_that_criteria_name_and_no_others() {
    let snapshot = snapshot();
    for entity in Entity::ALL {
        for item in entity.items(&snapshot) {
            let shown = serde_json::to_value(item).unwrap();
            let names = entity.fields().iter().map(|field| field.name);
            let shown = shown.as_object().unwrap();
            assert_eq!(
                shown.keys().map(String::as_str).collect::<Vec<_>>(),
                names.collect::<Vec<_>>()
            );
            // Each value as a literal asks for just the things that have it.
            for (name, value) in shown {
                let filter = serde_json::json!({ name: value }).to_string();
                let found = criteria(entity, &filter).unwrap().select(&snapshot).unwrap();
                assert!(found.contains(&item), "{filter}");
            }
        }
        assert_eq!(entity.items(&snapshot).count(), entity.count(&snapshot));
    }
    let pane = serde_json::to_value(Item::Pane(&snapshot.panes[2])).unwrap();
    assert_eq!(pane["id"], "%2");
    assert_eq!((&pane["windowId"], &pane["deadStatus"]), (&"@1".into(), &3.into()));
    let pane = serde_json::to_value(Item::Pane(&snapshot.panes[3])).unwrap();
    assert!(pane["currentPath"].is_null() && pane["currentCommand"] == "sh");
}

#[test]
fn the_published_schema_is_small_and_refuses_what_the_parser_refuses() {
    let schema = json_schema();
    let size = serde_json::to_vec(&schema).unwrap().len();
    assert!(size < 11_000, "{size}");
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (entity, filter) in [
        ("pane", r#"{"dead":1}"#),
        ("pane", r#"{"current_command":"sh"}"#),
        ("pane", r#"{"id":{"startsWith":"%"}}"#),
        ("pane", r#"{"index":-1}"#),
        ("pane", r#"{"pid":2147483648}"#),
        ("pane", r#"{"deadStatus":{"not":{"not":{"not":{"lt":null}}}}}"#),
        ("pane", r#"{"title":{}}"#),
        ("pane", r#"{"window":{"is":null}}"#),
        ("session", r#"{"panes":{}}"#),
        ("session", r#"{"panes":{"some":{"nothing":1}}}"#),
    ] {
        let document = format!(
            r#"{{"profile":"libtmux-ruby.where","version":1,"entity":"{entity}","where":{filter}}}"#
        );
        assert!(Criteria::from_json(document.as_bytes()).is_err(), "{filter}");
        assert!(!validator.is_valid(&serde_json::from_str(&document).unwrap()), "{filter}");
    }
}

#[test]
fn the_published_schema_and_the_parser_say_the_same_of_every_name_test_and_value() {
    let schema = json_schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let names: std::collections::BTreeSet<&str> = Entity::ALL
        .iter()
        .flat_map(|entity| {
            let fields = entity.fields().iter().map(|field| field.name);
            fields.chain(entity.relations().iter().map(|relation| relation.name))
        })
        .chain(["and", "or", "window_id", "Name", ""])
        .collect();
    let values: Vec<String> = [
        "null",
        "true",
        r#""""#,
        r#""%0""#,
        "{}",
        "[]",
        "[{}]",
        "-1",
        "0",
        "255",
        "256",
        "2147483647",
        "2147483648",
        "4294967295",
        "4294967296",
        "9223372036854775807",
        r#"[null]"#,
        r#"["x"]"#,
        "[1]",
        "[true]",
        "[-1]",
        "[1,null]",
        r#"{"equals":1}"#,
        r#"{"not":{"not":null}}"#,
        r#"{"lt":null}"#,
        r#"{"in":["x",null]}"#,
        r#"{"is":{}}"#,
        r#"{"id":"x"}"#,
        r#"{"index":0}"#,
        r#"{"name":null}"#,
    ]
    .map(str::to_owned)
    .into();
    let operators = [
        "equals",
        "not",
        "in",
        "lt",
        "lte",
        "gt",
        "gte",
        "contains",
        "startsWith",
        "endsWith",
        "some",
        "every",
        "none",
        "is",
        "isNot",
        "starts_with",
        "",
    ];
    let tests: Vec<String> = operators
        .iter()
        .flat_map(|name| values.iter().map(move |value| format!(r#"{{"{name}":{value}}}"#)))
        .collect();
    let (mut good, mut bad) = (0, 0);
    for entity in Entity::ALL {
        for name in &names {
            for value in values.iter().chain(&tests) {
                let document = format!(
                    r#"{{"profile":"libtmux-ruby.where","version":1,"entity":"{}","where":{{"{name}":{value}}}}}"#,
                    entity.name()
                );
                let read = Criteria::from_json(document.as_bytes());
                let fits = validator.is_valid(&serde_json::from_str(&document).unwrap());
                assert_eq!(read.is_ok(), fits, "{document}: {read:?}");
                *if fits { &mut good } else { &mut bad } += 1;
            }
        }
    }
    assert!(good > 1_000 && bad > 50_000, "{good} {bad}");
}

#[test]
fn a_message_holds_a_key_of_the_document_and_not_more_of_it_than_fits() {
    let long = "k".repeat(100_000);
    for filter in [format!(r#"{{"{long}":1}}"#), format!(r#"{{"{long}":{{}}}}"#)] {
        let message = criteria(Entity::Pane, &filter).unwrap_err().to_string();
        assert!(message.contains("kkk") && message.len() < 250, "{message}");
    }
    let message = criteria(Entity::Pane, r#"{"pid":"secret"}"#).unwrap_err().to_string();
    assert!(message.contains("pid") && !message.contains("secret"), "{message}");
}

#[test]
fn a_question_that_takes_too_long_is_given_up() {
    let mut large = snapshot();
    let long: &'static str = Box::leak("a".repeat(60_000).into_boxed_str());
    let pane = Pane { title: long.into(), ..large.panes[0].clone() };
    large.panes = (0..400).map(|n| Pane { id: PaneId::new(n), ..pane.clone() }).collect();
    let text = Test::contains(&format!("{}b", "a".repeat(300)));
    let or = Where::any(vec![Where::field("title", text); 600]);
    let question = Criteria::new(Entity::Pane, or).unwrap();
    let found = question.select(&large).map(|items| items.len());
    assert!(matches!(found, Err(CriteriaError::Effort { .. })), "{found:?}");
}
