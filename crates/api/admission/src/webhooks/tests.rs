mod calls;
mod failures;
mod matching;
mod rounds;
