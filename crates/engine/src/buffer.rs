//! stub
/// Buffer
#[derive(Debug)]
pub struct Buffer;
