use super::super::failure::Code;
use super::*;

fn schema() -> Schema {
    Schema::object()
        .pane_id()
        .reference(&["pane", "session"])
        .rule(Rule::AtMostOne(&["pane_id", "ref"]))
        .integer("max_lines", "A limit", 1..=1000)
        .default_to(200)
        .nullable()
        .number("timeout", "Seconds", 0.1..=120.0)
        .flag("history", "With history")
        .text("name", "A name")
        .choice("view", "A view", &["lines", "screen"])
        .texts("keys", "Keys", 2)
        .objects("steps", "Steps", Schema::object().text("tool", "A tool").required(), 2)
        .open_object("criteria", "A document")
}

fn read(text: &str) -> Result<Arguments, Failure> {
    Arguments::read(text, &schema())
}

/// The message of a refusal.
fn refusal(text: &str) -> String {
    let failure = read(text).expect_err(text);
    assert_eq!(failure.code, Code::InvalidInput, "{text}");
    failure.message
}

#[test]
fn every_kind_is_read() {
    let arguments = read(
        r#"{"pane_id":"%7","max_lines":5,"timeout":0.5,"history":true,"name":"a","view":"screen","keys":["x","y"],
            "steps":[{"tool":"t"}],"criteria":{"a":1.0,"a":1}}"#,
    )
    .unwrap();
    assert_eq!(arguments.pane().unwrap().id.to_string(), "%7");
    assert_eq!((arguments.integer("max_lines"), arguments.count("max_lines")), (Some(5), Some(5)));
    assert_eq!(arguments.number("timeout"), Some(0.5));
    assert!(arguments.flag("history") && arguments.flag_or("history", false));
    assert_eq!((arguments.text("name"), arguments.text("view")), (Some("a"), Some("screen")));
    assert_eq!(arguments.texts("keys"), ["x", "y"]);
    assert_eq!(arguments.objects("steps")[0].text("tool"), Some("t"));
    assert_eq!(arguments.raw("criteria"), Some(r#"{"a":1.0,"a":1}"#));
    assert_eq!(arguments.names().count(), 9);
}

#[test]
fn absent_means_the_default_and_null_means_none() {
    let absent = read("{}").unwrap();
    assert_eq!(absent.integer("max_lines"), Some(200));
    assert!(!absent.has("max_lines") && !absent.flag("history") && absent.flag_or("history", true));
    assert!(absent.pane().is_none() && absent.texts("keys").is_empty());
    let null = read(r#"{"max_lines":null}"#).unwrap();
    assert_eq!(null.integer("max_lines"), None);
    assert!(!null.has("max_lines"));
    assert!(refusal(r#"{"name":null}"#).contains("name must not be null"));
}

#[test]
fn numbers_may_be_numeric_strings() {
    for (spelt, number) in
        [("7", 7), ("\"7\"", 7), ("7.0", 7), ("\"7.0\"", 7), ("1e2", 100), ("\"1e2\"", 100)]
    {
        let arguments = read(&format!(r#"{{"max_lines":{spelt}}}"#)).unwrap();
        assert_eq!(arguments.integer("max_lines"), Some(number), "{spelt}");
    }
    assert_eq!(read(r#"{"timeout":"2.5"}"#).unwrap().number("timeout"), Some(2.5));
    for spelt in [
        "\"\"",
        "\" 7\"",
        "\"7 \"",
        "\"+7\"",
        "\"0x7\"",
        "\"seven\"",
        "\"07\"",
        "7.5",
        "\"7.5\"",
        "true",
        "[7]",
        "{}",
        "\"NaN\"",
        "\"null\"",
        "1e300",
    ] {
        assert!(
            refusal(&format!(r#"{{"max_lines":{spelt}}}"#)).contains("whole number"),
            "{spelt}"
        );
    }
    for spelt in ["0", "1001", "\"-1\"", "-9223372036854775808"] {
        assert!(
            refusal(&format!(r#"{{"max_lines":{spelt}}}"#)).contains("from 1 to 1000"),
            "{spelt}"
        );
    }
    for spelt in ["0", "121", "1e400"] {
        assert!(read(&format!(r#"{{"timeout":{spelt}}}"#)).is_err(), "{spelt}");
    }
}

#[test]
fn booleans_must_be_booleans() {
    for spelt in ["\"false\"", "\"true\"", "0", "1", "\"\"", "[]"] {
        assert!(
            refusal(&format!(r#"{{"history":{spelt}}}"#)).contains("history must be true or false")
        );
    }
}

#[test]
fn unknown_and_doubled_keys_are_refused_by_name() {
    assert!(
        refusal(r#"{"pane":"%1"}"#)
            .starts_with(r#"Unknown argument "pane"; known are pane_id, ref,"#)
    );
    assert!(refusal(r#"{"history":true,"histor\u0079":true}"#).contains("history is given twice"));
    assert!(refusal(&format!(r#"{{"{}\n":1}}"#, "k".repeat(500))).len() < 300);
    let none = Arguments::read(r#"{"a":1}"#, &Schema::object()).unwrap_err();
    assert_eq!(none.message, r#"Unknown argument "a"; none are taken here."#);
}

#[test]
fn no_message_holds_a_value() {
    for text in [
        r#"{"pane_id":"secret"}"#,
        r#"{"max_lines":"secret"}"#,
        r#"{"history":"secret"}"#,
        r#"{"view":"secret"}"#,
        r#"{"keys":"secret"}"#,
        r#"{"steps":[{"tool":"x","a":"secret"}]}"#,
        r#"{"criteria":"secret"}"#,
        r#"{"ref":{"generation":"secret","kind":"pane","id":"%1"}}"#,
        r#"{"ref":{"generation":"secret","kind":"secret","id":"%1"}}"#,
        r#""secret""#,
    ] {
        assert!(!refusal(text).contains("secret"), "{text}");
    }
}

#[test]
fn arguments_are_one_object() {
    for text in ["", "[]", "1", "{", "{}{}", "null", r#"{"name":"\ud800"}"#] {
        refusal(text);
    }
}

#[test]
fn lists_are_lists_of_the_right_things_and_length() {
    assert!(refusal(r#"{"keys":["a","b","c"]}"#).contains("at most 2"));
    assert!(refusal(r#"{"keys":["a",1]}"#).contains("list of strings"));
    assert!(refusal(r#"{"steps":[]}"#).contains("1 to 2"));
    assert!(
        refusal(r#"{"steps":[{"tool":"a"},{}]}"#)
            .contains("In item 1 of steps: The argument tool is missing")
    );
}

#[test]
fn a_ref_stands_in_place_of_an_id() {
    let hex = "0123456789abcdef0123456789abcdef";
    let arguments =
        read(&format!(r#"{{"ref":{{"generation":"{hex}","kind":"pane","id":"%3"}}}}"#)).unwrap();
    let target = arguments.pane().unwrap();
    assert_eq!(target.id.to_string(), "%3");
    assert_eq!(target.reference.unwrap().generation.to_string(), hex);
    assert!(arguments.session().is_none());

    for (body, why) in [
        (format!(r#"{{"generation":"{hex}","kind":"pane","id":"@3"}}"#), "malformed"),
        (format!(r#"{{"generation":"{hex}","kind":"pane","id":"%03"}}"#), "malformed"),
        (format!(r#"{{"generation":"{hex}","kind":"pane","id":"%3","index":1}}"#), "malformed"),
        (
            format!(r#"{{"generation":"{}","kind":"pane","id":"%3"}}"#, hex.to_uppercase()),
            "malformed",
        ),
        (format!(r#"{{"generation":"{hex}","kind":"window","id":"@3"}}"#), "kind pane or session"),
        (format!(r#"{{"generation":"{hex}","kind":"pane"}}"#), "id is missing"),
        (
            format!(r#"{{"generation":"{hex}","kind":"pane","id":"%3","x":1}}"#),
            "Unknown argument \"x\"",
        ),
        ("\"%3\"".to_owned(), "one JSON object"),
    ] {
        let message = refusal(&format!(r#"{{"ref":{body}}}"#));
        assert!(message.contains(why), "{body}: {message}");
    }
    let both =
        format!(r#"{{"pane_id":"%3","ref":{{"generation":"{hex}","kind":"pane","id":"%3"}}}}"#);
    assert_eq!(refusal(&both), "Give at most one of pane_id, ref.");
}

#[test]
fn exactly_one_target_means_one() {
    let schema = Schema::object().one_window();
    let hex = "0".repeat(32);
    assert_eq!(
        Arguments::read("{}", &schema).unwrap_err().message,
        "Give exactly one of window_id, ref."
    );
    let link = format!(
        r#"{{"ref":{{"generation":"{hex}","kind":"window_link","id":"@2","session_id":"$1","index":4}}}}"#
    );
    let arguments = Arguments::read(&link, &schema).unwrap();
    assert_eq!(arguments.window().unwrap().id.to_string(), "@2");
    assert!(matches!(arguments.reference().unwrap().place, Place::Link(_, _, 4)));
}
