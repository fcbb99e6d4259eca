//! Runs the drawing program of a page and notes where which text was shown.

use std::collections::BTreeMap;
use std::rc::Rc;

use lopdf::content::{Content, Operation};
use lopdf::{Dictionary, Document, Object, ObjectId};

use crate::ExtractError;
use crate::limits::{Limits, within};
use crate::pdf::explained;
use crate::pdf::fonts::Font;

/// How deep forms may stand in forms: real files have two or three levels.
const FORM_DEPTH_MAX: usize = 8;
/// Most forms drawn in one document: forms that draw forms make many of few, and a map has some thousands.
const FORMS_DRAWN_MAX: usize = 50_000;
/// Most saved states of the drawing program.
const STATES_MAX: usize = 256;
/// A gap wider than this part of the size is a blank between words.
const BLANK_WIDTH: f32 = 0.18;
/// Two pieces of text whose baselines differ by less than this part of the size stand on one line.
const BASELINE_SHIFT: f32 = 0.4;

/// A line of text as it stands on a page; y grows upwards.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) x: f32,
    pub(super) right: f32,
    pub(super) y: f32,
    /// The mean of its letters: a large number before an item does not make it a heading.
    pub(super) size: f32,
    letters: f32,
}

pub(super) struct Reader<'a> {
    document: &'a Document,
    limits: &'a Limits,
    /// Fonts by where their dictionaries lie in memory: pages share them.
    fonts: BTreeMap<*const Dictionary, Rc<Font>>,
    inflated: usize,
    forms_drawn: usize,
    text_bytes: usize,
    /// Codes without a known letter.
    pub(super) unreadable: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(document: &'a Document, limits: &'a Limits) -> Self {
        Self {
            document,
            limits,
            fonts: BTreeMap::new(),
            inflated: 0,
            forms_drawn: 0,
            text_bytes: 0,
            unreadable: 0,
        }
    }

    /// The lines of a page in the order in which they were drawn.
    pub(super) fn lines(&mut self, page: ObjectId) -> Result<Vec<Line>, ExtractError> {
        let room = self.limits.inflated_bytes_max.saturating_sub(self.inflated);
        let content = self.document.get_page_content_with_limit(page, room);
        let content = content.map_err(|error| explained(&error, self.limits))?;
        self.inflated += content.len();
        let resources = self.resources(page);
        let mut run = Run { reader: self, lines: Vec::new(), depth: 0 };
        run.content(&content, &resources, Matrix::IDENTITY)?;
        Ok(run.lines)
    }

    /// What the page has at hand, its own first.
    fn resources(&self, page: ObjectId) -> Vec<&'a Dictionary> {
        let document = self.document;
        match document.get_page_resources(page) {
            Ok((own, shared)) => {
                let shared = shared.into_iter().filter_map(|id| document.get_dictionary(id).ok());
                own.into_iter().chain(shared).collect()
            }
            // The nodes above the page loop: what stands in the page itself is still good.
            Err(_) => {
                let own = document.get_dictionary(page);
                let own = own.and_then(|page| page.get_deref(b"Resources", document));
                own.and_then(Object::as_dict).into_iter().collect()
            }
        }
    }

    fn font(
        &mut self,
        name: &[u8],
        resources: &[&'a Dictionary],
    ) -> Result<Option<Rc<Font>>, ExtractError> {
        let Some(dictionary) =
            self.resource(b"Font", name, resources).and_then(|font| font.as_dict().ok())
        else {
            return Ok(None);
        };
        let key = std::ptr::from_ref(dictionary);
        if let Some(font) = self.fonts.get(&key) {
            return Ok(Some(Rc::clone(font)));
        }
        let font = Rc::new(Font::read(dictionary, self.document, self.limits)?);
        self.fonts.insert(key, Rc::clone(&font));
        Ok(Some(font))
    }

    fn resource(
        &self,
        kind: &[u8],
        name: &[u8],
        resources: &[&'a Dictionary],
    ) -> Option<&'a Object> {
        let found = |resources: &&'a Dictionary| {
            let named = resources.get_deref(kind, self.document).and_then(Object::as_dict).ok()?;
            named.get_deref(name, self.document).ok()
        };
        resources.iter().find_map(found)
    }
}

/// One run of a page's program, with the forms it draws.
struct Run<'r, 'a> {
    reader: &'r mut Reader<'a>,
    lines: Vec<Line>,
    depth: usize,
}

/// What the program has set up when it shows text.
#[derive(Clone)]
struct State {
    matrix: Matrix,
    font: Option<Rc<Font>>,
    size: f32,
    character_gap: f32,
    word_gap: f32,
    scale: f32,
    leading: f32,
}

impl<'a> Run<'_, 'a> {
    fn content(
        &mut self,
        content: &[u8],
        resources: &[&'a Dictionary],
        matrix: Matrix,
    ) -> Result<(), ExtractError> {
        let state = State {
            matrix,
            font: None,
            size: 1.0,
            character_gap: 0.0,
            word_gap: 0.0,
            scale: 1.0,
            leading: 0.0,
        };
        let mut program =
            Program { state, saved: Vec::new(), text: Matrix::IDENTITY, line: Matrix::IDENTITY };
        for operation in Content::decode_iter(content) {
            // What stands before the damage is still good.
            let Ok(operation) = operation else { break };
            match operation.operator.as_str() {
                "Tf" => {
                    let name = operation.operands.first().and_then(|name| name.as_name().ok());
                    program.state.font = self.reader.font(name.unwrap_or_default(), resources)?;
                    program.state.size = operand(&operation, 1);
                }
                "Tj" | "TJ" | "'" | "\"" => {
                    if matches!(operation.operator.as_str(), "'" | "\"") {
                        program.next_line(0.0, -program.state.leading);
                    }
                    self.show(&mut program, operation.operands.last())?;
                }
                "Do" => {
                    let name = operation.operands.first().and_then(|name| name.as_name().ok());
                    self.form(name.unwrap_or_default(), resources, program.state.matrix)?;
                }
                _ => program.step(&operation),
            }
        }
        Ok(())
    }

    /// Draws a form: a program of its own that stands somewhere on the page.
    fn form(
        &mut self,
        name: &[u8],
        resources: &[&'a Dictionary],
        matrix: Matrix,
    ) -> Result<(), ExtractError> {
        let form = self
            .reader
            .resource(b"XObject", name, resources)
            .and_then(|form| form.as_stream().ok());
        let Some(form) = form else { return Ok(()) };
        let is_form =
            form.dict.get(b"Subtype").and_then(Object::as_name).is_ok_and(|name| name == b"Form");
        if !is_form || self.depth >= FORM_DEPTH_MAX {
            return Ok(());
        }
        let limits = self.reader.limits;
        let room = limits.inflated_bytes_max.saturating_sub(self.reader.inflated);
        let content =
            form.get_plain_content_with_limit(room).map_err(|error| explained(&error, limits))?;
        // A form drawn again and again costs each time.
        self.reader.inflated += content.len();
        within("inflated bytes", self.reader.inflated, limits.inflated_bytes_max)?;
        self.reader.forms_drawn += 1;
        within("drawn forms", self.reader.forms_drawn, FORMS_DRAWN_MAX)?;
        let own = form.dict.get_deref(b"Resources", self.reader.document).and_then(Object::as_dict);
        let mut inner: Vec<&Dictionary> = own.into_iter().collect();
        inner.extend(resources);
        let placed =
            form.dict.get_deref(b"Matrix", self.reader.document).and_then(Object::as_array);
        let placed = placed.map_or(Matrix::IDENTITY, |numbers| Matrix::of(numbers));
        self.depth += 1;
        self.content(&content, &inner, placed.then(&matrix))?;
        self.depth -= 1;
        Ok(())
    }

    fn show(&mut self, program: &mut Program, shown: Option<&Object>) -> Result<(), ExtractError> {
        let one;
        let parts = match shown {
            Some(Object::Array(parts)) => parts.as_slice(),
            Some(text @ Object::String(..)) => {
                one = [text.clone()];
                one.as_slice()
            }
            _ => return Ok(()),
        };
        for part in parts {
            match part {
                Object::String(bytes, _) => self.show_text(program, bytes)?,
                number => {
                    let moved = number.as_float().unwrap_or(0.0) / 1000.0;
                    program.advance(-moved * program.state.size * program.state.scale);
                }
            }
        }
        Ok(())
    }

    fn show_text(&mut self, program: &mut Program, bytes: &[u8]) -> Result<(), ExtractError> {
        let Some(font) = program.state.font.clone() else { return Ok(()) };
        for shown in font.decode(bytes) {
            let start = program.place();
            let state = &program.state;
            let gap = state.character_gap + if shown.is_space { state.word_gap } else { 0.0 };
            let width = (shown.width * state.size + gap) * state.scale;
            let letter_width = shown.width * state.size * state.scale;
            let right = program.place_after(letter_width).0;
            program.advance(width);
            match shown.text {
                Some(text) => {
                    self.reader.text_bytes += text.len();
                    within(
                        "bytes of text",
                        self.reader.text_bytes,
                        self.reader.limits.text_bytes_max,
                    )?;
                    self.add(&text, start, right, program.visible_size());
                }
                None => self.reader.unreadable += 1,
            }
        }
        Ok(())
    }

    /// Adds letters to the line they stand on.
    fn add(&mut self, text: &str, (x, y): (f32, f32), right: f32, size: f32) {
        if let Some(line) = self.lines.last_mut() {
            let em = line.size.max(size).max(0.1);
            let same_line = (line.y - y).abs() < em * BASELINE_SHIFT && x > line.right - em * 2.0;
            if same_line {
                let is_gap = x - line.right > em * BLANK_WIDTH;
                if is_gap && !line.text.ends_with(' ') && !text.starts_with(' ') {
                    line.text.push(' ');
                }
                line.text.push_str(text);
                line.right = right.max(line.right);
                line.letters += 1.0;
                line.size += (size - line.size) / line.letters;
                return;
            }
        }
        if !text.trim().is_empty() {
            self.lines.push(Line { text: text.to_owned(), x, right, y, size, letters: 1.0 });
        }
    }
}

struct Program {
    state: State,
    saved: Vec<State>,
    text: Matrix,
    line: Matrix,
}

impl Program {
    /// Steps that only move or set something.
    fn step(&mut self, operation: &Operation) {
        let number = |at| operand(operation, at);
        match operation.operator.as_str() {
            "q" if self.saved.len() < STATES_MAX => self.saved.push(self.state.clone()),
            "Q" => self.state = self.saved.pop().unwrap_or_else(|| self.state.clone()),
            "cm" => self.state.matrix = Matrix::of(&operation.operands).then(&self.state.matrix),
            "BT" => (self.text, self.line) = (Matrix::IDENTITY, Matrix::IDENTITY),
            "Td" => self.next_line(number(0), number(1)),
            "TD" => {
                self.state.leading = -number(1);
                self.next_line(number(0), number(1));
            }
            "T*" => self.next_line(0.0, -self.state.leading),
            "Tm" => {
                self.line = Matrix::of(&operation.operands);
                self.text = self.line;
            }
            "Tc" => self.state.character_gap = number(0),
            "Tw" => self.state.word_gap = number(0),
            "Tz" => self.state.scale = number(0) / 100.0,
            "TL" => self.state.leading = number(0),
            _ => {}
        }
    }

    fn next_line(&mut self, x: f32, y: f32) {
        self.line = Matrix([1.0, 0.0, 0.0, 1.0, x, y]).then(&self.line);
        self.text = self.line;
    }

    fn advance(&mut self, by: f32) {
        self.text = Matrix([1.0, 0.0, 0.0, 1.0, by, 0.0]).then(&self.text);
    }

    fn place(&self) -> (f32, f32) {
        self.place_after(0.0)
    }

    fn place_after(&self, by: f32) -> (f32, f32) {
        self.text.then(&self.state.matrix).apply(by, 0.0)
    }

    /// The size of letters on the page.
    fn visible_size(&self) -> f32 {
        let Matrix([_, _, c, d, _, _]) = self.text.then(&self.state.matrix);
        self.state.size.abs() * c.hypot(d)
    }
}

fn operand(operation: &Operation, at: usize) -> f32 {
    operation.operands.get(at).and_then(|number| number.as_float().ok()).unwrap_or(0.0)
}

#[derive(Debug, Clone, Copy)]
struct Matrix([f32; 6]);

impl Matrix {
    const IDENTITY: Self = Self([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    fn of(numbers: &[Object]) -> Self {
        let mut matrix = Self::IDENTITY;
        for (slot, number) in matrix.0.iter_mut().zip(numbers) {
            *slot = number.as_float().unwrap_or(*slot);
        }
        matrix
    }

    /// This one first, then the other.
    fn then(&self, other: &Self) -> Self {
        let (Self([a, b, c, d, e, f]), Self([p, q, r, s, t, u])) = (self, other);
        Self([
            a * p + b * r,
            a * q + b * s,
            c * p + d * r,
            c * q + d * s,
            e * p + f * r + t,
            e * q + f * s + u,
        ])
    }

    fn apply(&self, x: f32, y: f32) -> (f32, f32) {
        let Self([a, b, c, d, e, f]) = self;
        (a * x + c * y + e, b * x + d * y + f)
    }
}
