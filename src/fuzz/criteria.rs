//! Reading criteria and asking them.

use serde_json::Value;

use crate::client::Server;
use crate::model::{
    ClientInfo, Pane, PaneId, Session, SessionId, Snapshot, Text, Window, WindowId, WindowLink,
};
use crate::query::{Criteria, CriteriaError, Item};

/// Input: a document.
///
/// Whatever is read selects items of its entity in their order, each once, and its negation selects
/// the others. It reads the same when it is written anew.
pub fn criteria(document: &[u8]) {
    let Ok(criteria) = Criteria::from_json(document) else { return };
    let Ok(mut value) = serde_json::from_slice(document) else {
        panic!("criteria that are no JSON")
    };
    restore_zeros(&mut value);
    let snapshot = snapshot();
    let selected = match criteria.select(&snapshot) {
        Ok(selected) => selected,
        Err(CriteriaError::Undecodable { .. }) => return,
        Err(other) => panic!("{other}"),
    };
    let all: Vec<Item<'_>> = criteria.entity().items(&snapshot).collect();
    let (positions, others) = match negated(&value) {
        Some(negated) => (positions(&all, &selected), negated.select(&snapshot)),
        None => return, // it was as deep or as long as it may be
    };
    assert!(positions.is_sorted_by(|a, b| a < b), "{positions:?}");
    let Ok(others) = others else { panic!("a negation that cannot be asked") };
    assert_eq!(selected.len() + others.len(), all.len());
    assert!(others.iter().all(|item| !selected.contains(item)));
    let anew = Criteria::from_json(value.to_string().as_bytes());
    assert!(anew.is_ok_and(|anew| anew.select(&snapshot) == Ok(selected)));
}

fn positions(all: &[Item<'_>], selected: &[Item<'_>]) -> Vec<Option<usize>> {
    selected.iter().map(|item| all.iter().position(|other| other == item)).collect()
}

/// Makes 0 of what was written as `-0`, which `Value` takes for -0.0; nothing else of criteria that
/// were read is a fraction.
fn restore_zeros(value: &mut Value) {
    match value {
        Value::Array(members) => members.iter_mut().for_each(restore_zeros),
        Value::Object(members) => members.values_mut().for_each(restore_zeros),
        Value::Number(number) if number.is_f64() => {
            assert_eq!(number.as_f64(), Some(0.0), "a number that is no integer");
            *value = 0.into();
        }
        _ => {}
    }
}

/// The criteria that hold where those of `value` do not.
fn negated(value: &Value) -> Option<Criteria> {
    let mut value = value.clone();
    let filter = value.get_mut("where")?.take();
    *value.get_mut("where")? = serde_json::json!({ "not": filter });
    Criteria::from_json(value.to_string().as_bytes()).ok()
}

/// Two sessions that share a window, a dead pane, a path that is not UTF-8 and a client without a
/// session.
fn snapshot() -> Snapshot {
    let (session_ids, window_ids) = ([0, 1].map(SessionId::new), [0, 1].map(WindowId::new));
    let session = |id, name: &'static str| Session {
        id,
        created: 100,
        activity: 200,
        attached: 0,
        window_count: 1,
        name: name.into(),
        group: None,
    };
    let window = |id, name: &'static str| Window {
        id,
        width: 80,
        height: 24,
        pane_count: 1,
        zoomed: false,
        activity: 0,
        name: name.into(),
        layout: "b25d,80x24,0,0,0".into(),
    };
    let pane = |number: u32, window_id, dead_status: Option<u8>, path: Option<Text>| Pane {
        id: PaneId::new(number),
        window_id,
        index: number,
        pid: number,
        active: true,
        dead: dead_status.is_some(),
        dead_status,
        width: 80,
        height: 24,
        in_mode: false,
        alternate_on: false,
        history_size: 0,
        current_command: "sh".into(),
        current_path: path,
        title: "é title".into(),
    };
    let link = |session: usize, index, window: usize| WindowLink {
        session_id: session_ids[session],
        window_id: window_ids[window],
        index,
        active: index == 0,
    };
    let client = |pid, session_id| ClientInfo {
        pid,
        created: 5,
        session_id,
        width: None,
        height: Some(24),
        read_only: false,
        utf8: true,
        control_mode: false,
        name: "client".into(),
        tty: Some("/dev/pts/1".into()),
    };
    let odd = bytes::Bytes::from_static(b"/\xff").into();
    Snapshot {
        reply_len: 0,
        server: Server::for_tests(),
        sessions: vec![session(session_ids[0], "work"), session(session_ids[1], "Work2")],
        windows: vec![window(window_ids[0], "editor"), window(window_ids[1], "logs")],
        links: vec![link(0, 0, 0), link(0, 3, 1), link(1, 0, 1)],
        panes: vec![pane(0, window_ids[0], None, None), pane(1, window_ids[1], Some(3), Some(odd))],
        clients: vec![client(10, Some(session_ids[0])), client(11, None)],
    }
}
