//! What is refused before anything is contacted.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use serde_json::json;

use crate::client::{Mcp, muxwire};
use crate::support::{directory, run};

#[test]
fn wrong_options_end_with_status_2_and_one_line_before_any_contact() {
    let flags: [&[&str]; 14] = [
        &["--toolsets", "inspect,nonsense"],
        &["--toolsets", "inspect,,manage"],
        &["--tools", "no_such_tool"],
        &["--exclude-tools", "list_panes,"],
        &["-L", "a", "-S", "/tmp/b"],
        &["-L", "a/b"],
        &["-S", "relative"],
        &["--current"],
        &["--endpoint", ".alias"],
        &["--timeout", "0"],
        &["--timeout", "601"],
        &["--timeout", "-1"],
        &["--max-response-bytes", "4095"],
        &["--max-response-bytes", "-1"],
    ];
    let variables = [
        ("LIBTMUX_SAFETY", "readonly"),
        ("LIBTMUX_MCP_TOOLS", ""),
        ("LIBTMUX_SOCKET_NAME", "x"),
        ("LIBTMUX_TOOLSETS", "nonsense"),
        ("LIBTMUX_TOOLS", "no_such_tool"),
        ("LIBTMUX_MCP_LIVE", "maybe"),
    ];
    let flags = flags.iter().map(|flags| (*flags, None));
    for (flags, variable) in flags.chain(variables.iter().map(|it| (&[][..], Some(*it)))) {
        let home = directory();
        let mut command = muxwire(home.path());
        let ran = run(command.arg("mcp").args(flags).envs(variable), None);
        let complaint = String::from_utf8(ran.stderr.clone()).unwrap();
        assert_eq!((ran.status, &ran.stdout[..]), (2, &b""[..]), "{flags:?} {variable:?} {ran:?}");
        assert_eq!(complaint.matches('\n').count(), 1, "{complaint}");
        assert!(complaint.ends_with('\n') && complaint.len() > 20, "{complaint}");
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "{flags:?}");
    }
}

#[test]
fn a_socket_name_that_is_not_utf_8_is_refused_like_any_other_value() {
    let home = directory();
    let name = OsString::from_vec(b"a\xff".to_vec());
    let ran = run(muxwire(home.path()).arg("mcp").arg("-L").arg(name), None);
    assert_eq!((ran.status, ran.stdout.len()), (2, 0), "{ran:?}");
}

#[test]
fn a_flag_wins_over_its_variable() {
    let home = directory();
    let mut command = muxwire(home.path());
    command.env("LIBTMUX_TOOLSETS", "nonsense").env("LIBTMUX_SOCKET", "x");
    let mut mcp = Mcp::start(command.args(["mcp", "--toolsets", "", "--tools", "list_panes"]));
    assert_eq!(mcp.tools(), ["list_panes"]);
    assert_eq!(mcp.code("list_sessions", json!({})), "policy_denied");
    let error = mcp.fail("list_panes", json!({}));
    let message = error["message"].as_str().unwrap();
    assert!(error["code"] == "no_server" && message.contains("/x"), "{error}");
}
