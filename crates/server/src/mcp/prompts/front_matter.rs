//! Reads the head of a prompt's file: the few lines of YAML that say its title, its description and its arguments.

use super::Values;

/// Arguments of one prompt: more than a form that anybody fills in.
const ARGUMENTS_MAX: usize = 20;

/// What stands above the text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) arguments: Vec<Argument>,
}

/// What a prompt takes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Argument {
    pub(super) name: String,
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) is_required: bool,
    pub(super) values: Values,
}

/// The head and the text below it. A file without a head is all text.
pub(super) fn read(file: &str) -> Result<(Head, &str), String> {
    let file = file.strip_prefix('\u{feff}').unwrap_or(file);
    let Some(rest) = file.strip_prefix("---\n").or_else(|| file.strip_prefix("---\r\n")) else {
        return Ok((Head::default(), file));
    };
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            let body = rest.get(end + line.len()..).unwrap_or_default();
            return Ok((head(rest.get(..end).unwrap_or_default())?, body));
        }
        end += line.len();
    }
    Err("its head begins with --- and does not end with one".to_owned())
}

fn head(text: &str) -> Result<Head, String> {
    let mut head = Head::default();
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    for line in lines {
        let is_inside = line.starts_with([' ', '-']);
        let inner = line.trim_start();
        let (inner, is_new) = match inner.strip_prefix("- ") {
            Some(inner) if is_inside => (inner.trim_start(), true),
            Some(_) | None => (inner, false),
        };
        let (key, value) = pair(inner)?;
        match (is_inside, key) {
            (false, "title") => head.title = Some(plain(value)),
            (false, "description") => head.description = Some(plain(value)),
            (false, "arguments") if value.is_empty() => {}
            (true, "name") if is_new => head.arguments.push(Argument::named(plain(value))?),
            (true, key) if !is_new => match head.arguments.last_mut() {
                Some(argument) => argument.set(key, value)?,
                None => return Err(format!("{key} stands before any argument's name")),
            },
            (_, key) => return Err(format!("{key} is not known here")),
        }
    }
    if head.arguments.len() > ARGUMENTS_MAX {
        return Err(format!("it takes more than {ARGUMENTS_MAX} arguments"));
    }
    Ok(head)
}

impl Argument {
    fn named(name: String) -> Result<Self, String> {
        let is_legal = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_legal) {
            return Err(format!("{name:?} is no name for an argument"));
        }
        let (title, description, is_required, values) = (None, None, false, Values::Free);
        Ok(Self { name, title, description, is_required, values })
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "title" => self.title = Some(plain(value)),
            "description" => self.description = Some(plain(value)),
            "required" => {
                self.is_required = match value {
                    "true" => true,
                    "false" => false,
                    _ => return Err("required is true or false".to_owned()),
                };
            }
            "values" => self.values = values(value)?,
            key => return Err(format!("an argument has no {key}")),
        }
        Ok(())
    }
}

fn values(text: &str) -> Result<Values, String> {
    let listed = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    match (text, listed) {
        ("collections", _) => Ok(Values::Collections),
        ("documents", _) => Ok(Values::Documents),
        (_, Some(listed)) => {
            let values = listed.split(',').map(|value| plain(value.trim()));
            Ok(Values::Listed(values.filter(|value| !value.is_empty()).collect()))
        }
        (_, None) => Err("values is [a, b], collections or documents".to_owned()),
    }
}

fn pair(line: &str) -> Result<(&str, &str), String> {
    let (key, value) = line.split_once(':').ok_or_else(|| format!("{line:?} is no key: value"))?;
    Ok((key.trim(), value.trim()))
}

/// A value without the quotes around it.
fn plain(value: &str) -> String {
    let quoted = |mark: char| value.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
    quoted('"').or_else(|| quoted('\'')).unwrap_or(value).to_owned()
}
