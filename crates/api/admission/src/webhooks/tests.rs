mod calls;
mod conversions;
mod failures;
mod matching;
mod rounds;
