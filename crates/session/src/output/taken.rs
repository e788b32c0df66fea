//! The files a command uses, which its results must not overwrite.

use std::path::{Path, PathBuf};

use iostall_engine::output::{Place, PlaceKind};

const A_TARGET: &str = "a target of this command";
const AN_INPUT: &str = "a file that this command reads";

#[derive(Debug, Default)]
pub struct Taken {
    files: Vec<TakenFile>,
    trees: Vec<Tree>,
    /// Directories in which files are deleted.
    mirrors: Vec<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
#[error("{} is a file that this command reads, and a target that it may write: name another target", .0.display())]
pub struct InputIsTarget(PathBuf);

#[derive(Debug)]
struct TakenFile {
    /// What it is to the command, as the rest of "that is".
    what: &'static str,
    path: PathBuf,
}

#[derive(Debug)]
struct Tree {
    source: PathBuf,
    target: PathBuf,
}

impl Taken {
    /// The store at `path`, used by every command, and SQLite's files next to it.
    pub fn store(mut self, path: PathBuf) -> Self {
        for store in [path.canonicalize(), Ok(path)].into_iter().flatten() {
            let beside = ["-wal", "-shm", "-journal"].map(|suffix| {
                let mut name = store.clone().into_os_string();
                name.push(suffix);
                PathBuf::from(name)
            });
            self.add("a file of the store", beside.iter());
            self.add("the store", [&store]);
        }
        self
    }

    pub fn targets<P: AsRef<Path>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.add(A_TARGET, paths);
        self
    }

    pub fn inputs<P: AsRef<Path>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.add(AN_INPUT, paths);
        self
    }

    /// Refuses a target that is an input of this command, by whatever name.
    pub fn refuse_inputs_as_targets(&self) -> Result<(), InputIsTarget> {
        let of = |what: &'static str| self.files.iter().filter(move |file| file.what == what);
        for input in of(AN_INPUT) {
            let Ok(place) = Place::of(&input.path) else { continue };
            if let Some(target) = of(A_TARGET).find(|target| place.is_at(&target.path)) {
                return Err(InputIsTarget(target.path.clone()));
            }
        }
        Ok(())
    }

    pub fn copies(mut self, pairs: &[(PathBuf, PathBuf)], destination: &Path) -> Self {
        for (source, target) in pairs {
            if source.is_dir() {
                self.trees.push(Tree { source: source.clone(), target: target.clone() });
            }
            self.add("a source of this copy", [source]);
            self.add("a destination of this copy", [target]);
        }
        self.add("a destination of this copy", [destination]);
        self
    }

    /// A directory in which everything may be deleted that its source does not have.
    pub fn mirror(mut self, directory: Option<&Path>) -> Self {
        self.mirrors.extend(directory.map(Path::to_owned));
        self
    }

    fn add<P: AsRef<Path>>(&mut self, what: &'static str, paths: impl IntoIterator<Item = P>) {
        let paths = paths.into_iter().map(|path| TakenFile { what, path: path.as_ref().to_owned() });
        self.files.extend(paths);
    }

    pub(super) fn what(&self, place: &Place) -> Option<String> {
        if let Some(file) = self.files.iter().find(|file| place.is_at(&file.path)) {
            return Some(format!("that is {}: {}", file.what, file.path.display()));
        }
        let mirror = self.mirrors.iter().find(|directory| place.inside(directory).is_some());
        if let Some(directory) = mirror {
            return Some(format!(
                "it is in {}, where this copy deletes what its source does not have",
                directory.display()
            ));
        }
        self.trees.iter().find_map(|tree| tree.what(place))
    }
}

impl Tree {
    /// A new file in a source directory is not part of the source. In the destination, it is if the source
    /// has a file of that name.
    fn what(&self, place: &Place) -> Option<String> {
        if place.kind() == PlaceKind::File && place.inside(&self.source).is_some() {
            return Some(format!("that is one of the files in the source {}", self.source.display()));
        }
        let way = place.inside(&self.target)?;
        self.source
            .join(way)
            .symlink_metadata()
            .is_ok()
            .then(|| format!("this copy writes a file there, in {}", self.target.display()))
    }
}
