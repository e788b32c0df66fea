//! The files that a command writes its results to, checked together before it begins.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use iostall_engine::output::{Place, PlaceKind};

use super::form::{Form, HEAD_BYTES};
use super::taken::Taken;
use crate::failure::{Hinted, Status, hinted};
use crate::printer::Printer;

/// The end of every hint about an output that is refused at the start: nobody has to wonder what was done until then.
const NOTHING_DONE: &str = "; nothing was measured or copied";

/// Puts a form on paper.
pub(crate) type Render<'a> = &'a dyn Fn(Form, &mut dyn Write) -> anyhow::Result<()>;

/// An option, what it asks for, and the file it names.
pub(crate) type Wanted<'a> = (&'static str, Form, Option<&'a Path>);

/// One file to write.
struct Output {
    /// The option that named it.
    flag: &'static str,
    form: Form,
    shown: PathBuf,
    place: Place,
}

/// See the module.
pub(crate) struct Outputs {
    all: Vec<Output>,
}

impl Outputs {
    /// The files behind those options that were given.
    ///
    /// # Errors
    /// Where one could not be written afterwards, or where writing it would destroy something: a file that `taken` knows, a
    /// database, another output, or anything that is no former result of the same form.
    pub(crate) fn check(wanted: &[Wanted<'_>], taken: &Taken) -> anyhow::Result<Self> {
        let mut outputs = Self { all: Vec::new() };
        for (flag, form, path) in wanted {
            let Some(path) = *path else { continue };
            outputs.add(flag, *form, path, taken).map_err(before_the_run)?;
        }
        outputs.refuse_redirected().map_err(before_the_run)?;
        Ok(outputs)
    }

    fn add(&mut self, flag: &'static str, form: Form, path: &Path, taken: &Taken) -> anyhow::Result<()> {
        let output = Output::find(flag, form, path)?;
        self.refuse_twice(&output)?;
        output.refuse_taken(taken)?;
        output.check()?;
        self.all.push(output);
        Ok(())
    }

    /// Whether one of them goes to standard output, which then carries no text.
    pub(crate) fn take_stdout(&self) -> bool {
        self.all.iter().any(Output::is_stdout)
    }

    /// Adds a file that is written in the place of another one, should it come to that.
    pub(crate) fn also(
        &mut self,
        flag: &'static str,
        form: Form,
        path: &Path,
        taken: &Taken,
    ) -> anyhow::Result<()> {
        self.add(flag, form, path, taken).map_err(before_the_run)
    }

    /// Leaves out the file that was named as `path`: it is not to be written after all.
    pub(crate) fn leave_out(&mut self, path: &Path) {
        self.all.retain(|output| output.shown != path);
    }

    /// Whether what was named as `path` passes on what it is given, and keeps nothing that could be lost.
    pub(crate) fn is_stream(&self, path: &Path) -> bool {
        self.all.iter().any(|output| output.shown == path && output.place.is_stream())
    }

    /// Whether a document of all there is to know was asked for.
    pub(crate) fn have_json(&self) -> bool {
        self.all.iter().any(|output| output.form == Form::Json)
    }

    /// Writes all: regular files first, then `text` or the form that goes to standard output, then pipes and devices, which
    /// may make us wait. One that fails keeps the others; the answer is what failed.
    pub(crate) fn write(
        &self,
        render: Render<'_>,
        text: &dyn Fn() -> anyhow::Result<Option<String>>,
        printer: &Printer,
    ) -> Vec<anyhow::Error> {
        let (to_stdout, elsewhere): (Vec<&Output>, Vec<&Output>) =
            self.all.iter().partition(|output| output.is_stdout());
        let (streams, files): (Vec<&Output>, Vec<&Output>) =
            elsewhere.into_iter().partition(|output| output.place.is_stream());
        let mut failed = Vec::new();
        failed.extend(files.iter().filter_map(|output| output.write(render, printer).err()));
        let shown = match to_stdout.first() {
            Some(output) => rendered(output.form, render).map(Some),
            None => text().map(|text| text.map(String::into_bytes)),
        };
        let shown = shown.and_then(|document| match document {
            Some(document) => printer.document(&document).context("cannot write to standard output"),
            None => Ok(()),
        });
        failed.extend(shown.err());
        failed.extend(streams.iter().filter_map(|output| output.write(render, printer).err()));
        failed
    }

    /// The same, for what is in no store: says what failed, and answers `status` or that something did.
    pub(crate) fn write_or_show(
        &self,
        render: Render<'_>,
        text: &dyn Fn() -> anyhow::Result<Option<String>>,
        printer: &Printer,
        status: Status,
    ) -> Status {
        let failed = self.write(render, text, printer);
        for error in &failed {
            printer.error(error);
        }
        if failed.is_empty() { status } else { Status::CouldNot }
    }

    fn refuse_twice(&self, output: &Output) -> anyhow::Result<()> {
        let is_same =
            |other: &&Output| other.place.is_same(&output.place) || (other.is_stdout() && output.is_stdout());
        let Some(other) = self.all.iter().find(is_same) else { return Ok(()) };
        let (one, two) = (other.flag, output.flag);
        if output.is_stdout() {
            let error = anyhow::anyhow!("{one} and {two} both want standard output");
            return Err(hinted(error, "give all but one of them a file"));
        }
        let (first, second) = (other.shown.display(), output.shown.display());
        let error = anyhow::anyhow!("{one} {first} and {two} {second} are one file");
        Err(hinted(error, "give each a file of its own"))
    }

    /// Refuses a file that the shell has opened for our text or our messages: one would be lost.
    fn refuse_redirected(&self) -> anyhow::Result<()> {
        for (number, name) in [(1, "standard output"), (2, "standard error")] {
            let Ok(place) = Place::of_descriptor(number) else { continue };
            let is_same = |output: &&Output| !output.place.is_stream() && output.place.is_same(&place);
            if let Some(output) = self.all.iter().find(is_same) {
                let why = format_args!("{name} goes to the same file");
                return Err(output.refused(why, "give each a file of its own"));
            }
        }
        Ok(())
    }
}

impl Output {
    fn find(flag: &'static str, form: Form, path: &Path) -> anyhow::Result<Self> {
        let place = if path == Path::new("-") { Place::of_descriptor(1) } else { Place::of(path) };
        let place = place.map_err(|refusal| {
            let hint = refusal.hint();
            refused(flag, path, refusal, &hint)
        })?;
        Ok(Self { flag, form, shown: path.to_owned(), place })
    }

    fn is_stdout(&self) -> bool {
        self.place.kind() == PlaceKind::Descriptor(1)
    }

    fn refuse_taken(&self, taken: &Taken) -> anyhow::Result<()> {
        match taken.what(&self.place) {
            None => Ok(()),
            Some(what) => Err(self.refused(what, "name another file for the result")),
        }
    }

    /// Refuses what cannot be written, and what is there and should stay.
    fn check(&self) -> anyhow::Result<()> {
        self.place.check_writable().map_err(|refusal| {
            let hint = refusal.hint();
            self.refused(refusal, &hint)
        })?;
        let unread = |error: io::Error| {
            self.refused(format_args!("what is there cannot be read: {error}"), "name another file")
        };
        if let Some(found) = self.place.database().map_err(unread)? {
            let why = format_args!("that file belongs to a database: {found}");
            return Err(self.refused(why, "name another file for the result"));
        }
        if self.form.may_replace(&self.place.head(HEAD_BYTES).map_err(unread)?) {
            return Ok(());
        }
        let hint = match self.form {
            Form::Manifest { .. } => "name another file, or replace that one with --overwrite",
            _ => "name another file, or remove that one first",
        };
        Err(self.refused(format_args!("that file is there, and is no {}", self.form.name()), hint))
    }

    fn refused(&self, why: impl Display, hint: &str) -> anyhow::Error {
        refused(self.flag, &self.shown, why, hint)
    }

    /// Writes it, if it may still be: much can happen to a path during a run.
    fn write(&self, render: Render<'_>, printer: &Printer) -> anyhow::Result<()> {
        let waiting = || printer.note(&format!("waiting for somebody to read {}", self.shown.display()));
        let render = |out: &mut dyn Write| render(self.form, out).map_err(io::Error::other);
        let write = |place: &Place| {
            let failed = || format!("cannot write {} {}", self.flag, self.shown.display());
            let written = place.write(&render, &waiting).with_context(failed);
            match self.form {
                // The one result that is not in the run.
                Form::Manifest { .. } => written.map_err(|error| {
                    hinted(error, "the same copy with --resume and another --manifest writes it, and copies nothing again")
                }),
                _ => written,
            }
        };
        if self.place.is_stream() {
            return write(&self.place);
        }
        let now = Self::find(self.flag, self.form, &self.shown)?;
        now.check()?;
        write(&now.place)
    }
}

fn refused(flag: &str, path: &Path, why: impl Display, hint: &str) -> anyhow::Error {
    hinted(anyhow::anyhow!("{flag} {}: {why}", path.display()), hint)
}

fn before_the_run(error: anyhow::Error) -> anyhow::Error {
    error.downcast::<Hinted>().map_or_else(
        |error| error,
        |mut hinted| {
            hinted.hint.push_str(NOTHING_DONE);
            hinted.into()
        },
    )
}

fn rendered(form: Form, render: Render<'_>) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    render(form, &mut bytes)?;
    Ok(bytes)
}
