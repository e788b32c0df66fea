//! The files that a command writes its results to, checked together before it begins.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use iostall_engine::output::{Place, PlaceKind};

use super::error::{OutputError, RefusalReason};
use super::form::{Form, HEAD_BYTES};
use super::taken::Taken;

pub type Render<'a> = &'a dyn Fn(Form, &mut dyn Write) -> io::Result<()>;

/// An option, what it asks for, and the file it names.
pub type Wanted<'a> = (&'static str, Form, Option<&'a Path>);

#[derive(Clone, Copy)]
pub struct Delivery<'a> {
    pub render: Render<'a>,
    /// Prints this document, or the command's text if there is none, to standard output.
    pub show: &'a dyn Fn(Option<Vec<u8>>) -> io::Result<()>,
    /// Says that a pipe has no reader yet.
    pub waiting: &'a dyn Fn(&Path),
}

#[derive(Debug)]
struct Output {
    flag: &'static str,
    form: Form,
    shown: PathBuf,
    place: Place,
}

#[derive(Debug)]
pub struct Outputs {
    all: Vec<Output>,
}

impl Outputs {
    /// Refuses a file that could not be written afterwards, or where writing it would destroy something: a file that
    /// `taken` knows, a database, another output, or anything that is no former result of the same form.
    pub fn check(wanted: &[Wanted<'_>], taken: &Taken) -> Result<Self, OutputError> {
        let mut outputs = Self { all: Vec::new() };
        for (flag, form, path) in wanted {
            let Some(path) = *path else { continue };
            outputs.add(flag, *form, path, taken).map_err(at_start)?;
        }
        outputs.refuse_redirected().map_err(at_start)?;
        Ok(outputs)
    }

    fn add(&mut self, flag: &'static str, form: Form, path: &Path, taken: &Taken) -> Result<(), OutputError> {
        let output = Output::find(flag, form, path)?;
        self.refuse_twice(&output)?;
        output.refuse_taken(taken)?;
        output.check()?;
        self.all.push(output);
        Ok(())
    }

    /// Whether one of them goes to standard output, which then carries no text.
    pub fn take_stdout(&self) -> bool {
        self.all.iter().any(Output::is_stdout)
    }

    /// Adds a file that is written in the place of another one, should it come to that.
    pub fn also(
        &mut self,
        flag: &'static str,
        form: Form,
        path: &Path,
        taken: &Taken,
    ) -> Result<(), OutputError> {
        self.add(flag, form, path, taken).map_err(at_start)
    }

    pub fn leave_out(&mut self, path: &Path) {
        self.all.retain(|output| output.shown != path);
    }

    /// Whether `path` is a stream, such as a pipe or device, so that writing to it cannot destroy data.
    pub fn is_stream(&self, path: &Path) -> bool {
        self.all.iter().any(|output| output.shown == path && output.place.is_stream())
    }

    pub fn have_json(&self) -> bool {
        self.all.iter().any(|output| output.form == Form::Json)
    }

    /// Writes all outputs: first regular files, then standard output, then pipes and devices, which may
    /// block. A failure does not stop the others. Returns the failures.
    pub fn write(&self, delivery: Delivery<'_>) -> Vec<OutputError> {
        let (to_stdout, elsewhere): (Vec<&Output>, Vec<&Output>) =
            self.all.iter().partition(|output| output.is_stdout());
        let (streams, files): (Vec<&Output>, Vec<&Output>) =
            elsewhere.into_iter().partition(|output| output.place.is_stream());
        let mut failed = Vec::new();
        failed.extend(files.iter().filter_map(|output| output.write(delivery).err()));
        let document = to_stdout.first().map(|output| rendered(output.form, delivery.render)).transpose();
        failed.extend(document.and_then(delivery.show).map_err(OutputError::Stdout).err());
        failed.extend(streams.iter().filter_map(|output| output.write(delivery).err()));
        failed
    }

    fn refuse_twice(&self, output: &Output) -> Result<(), OutputError> {
        let is_same =
            |other: &&Output| other.place.is_same(&output.place) || (other.is_stdout() && output.is_stdout());
        let Some(other) = self.all.iter().find(is_same) else { return Ok(()) };
        let (one, two) = (other.flag, output.flag);
        if output.is_stdout() {
            return Err(OutputError::StdoutTwice { one, two });
        }
        let (first, second) = (other.shown.clone(), output.shown.clone());
        Err(OutputError::OneFile { one, first, two, second })
    }

    /// Refuses a file that the shell has opened for our text or our messages: one would be lost.
    fn refuse_redirected(&self) -> Result<(), OutputError> {
        for (number, name) in [(1, "standard output"), (2, "standard error")] {
            let Ok(place) = Place::of_descriptor(number) else { continue };
            let is_same = |output: &&Output| !output.place.is_stream() && output.place.is_same(&place);
            if let Some(output) = self.all.iter().find(is_same) {
                return Err(output.refused(RefusalReason::Redirected(name)));
            }
        }
        Ok(())
    }
}

impl Output {
    fn find(flag: &'static str, form: Form, path: &Path) -> Result<Self, OutputError> {
        let place = if path == Path::new("-") { Place::of_descriptor(1) } else { Place::of(path) };
        let place = place.map_err(|refusal| {
            let (path, why) = (path.to_owned(), RefusalReason::Place(refusal));
            OutputError::Refused { flag, path, why }
        })?;
        Ok(Self { flag, form, shown: path.to_owned(), place })
    }

    fn is_stdout(&self) -> bool {
        self.place.kind() == PlaceKind::Descriptor(1)
    }

    fn refuse_taken(&self, taken: &Taken) -> Result<(), OutputError> {
        taken.what(&self.place).map_or(Ok(()), |what| Err(self.refused(RefusalReason::Taken(what))))
    }

    /// Refuses outputs that cannot be written, or that would replace an unrelated file.
    fn check(&self) -> Result<(), OutputError> {
        let refuse = |why| Err(self.refused(why));
        let unread = |error| self.refused(RefusalReason::Unread(error));
        if let Err(refusal) = self.place.check_writable() {
            return refuse(RefusalReason::Place(refusal));
        }
        if let Some(found) = self.place.database().map_err(unread)? {
            return refuse(RefusalReason::Database(found));
        }
        let head = self.place.head(HEAD_BYTES).map_err(unread)?;
        if self.form.may_replace(&head) { Ok(()) } else { refuse(RefusalReason::OtherForm(self.form)) }
    }

    fn refused(&self, why: RefusalReason) -> OutputError {
        OutputError::Refused { flag: self.flag, path: self.shown.clone(), why }
    }

    /// Writes it, if it may still be: much can happen to a path during a run.
    fn write(&self, delivery: Delivery<'_>) -> Result<(), OutputError> {
        let waiting = || (delivery.waiting)(&self.shown);
        let render = |out: &mut dyn Write| (delivery.render)(self.form, out);
        let write = |place: &Place| {
            place.write(&render, &waiting).map_err(|source| OutputError::Write {
                flag: self.flag,
                path: self.shown.clone(),
                is_manifest: matches!(self.form, Form::Manifest { .. }),
                source,
            })
        };
        if self.place.is_stream() {
            return write(&self.place);
        }
        let now = Self::find(self.flag, self.form, &self.shown)?;
        now.check()?;
        write(&now.place)
    }
}

fn at_start(error: OutputError) -> OutputError {
    OutputError::AtStart(Box::new(error))
}

fn rendered(form: Form, render: Render<'_>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    render(form, &mut bytes)?;
    Ok(bytes)
}
