//! A checked tree made ready to run: names are places, calls are functions, what is constant is a value.
//! Knows how to be built; running is the evaluator's.

use std::sync::Arc;

use regex::Regex;

use crate::cost::actual::Rule;
use crate::cost::{Budget, CostRange};
use crate::error::EvalError;
use crate::eval;
use crate::library::{self, Function, regexes};
use crate::syntax::ast::{Call, Expr, FoldKind, Kind, Literal, Select};
use crate::syntax::macros::HELD;
use crate::types::Type;
use crate::value::{Activation, Map, Text, Value, compare};

/// An expression ready to be evaluated, any number of times.
#[derive(Debug)]
pub struct Program {
    output: Type,
    estimate: CostRange,
    pub(crate) variables: Vec<Arc<str>>,
    pub(crate) root: Node,
}

impl Program {
    /// The error is that of a constant which cannot be what it is used as.
    pub(crate) fn new(expr: &Expr, estimate: CostRange) -> Result<Self, EvalError> {
        let mut builder = Builder::default();
        let root = builder.node(expr);
        match builder.failed {
            Some(error) => Err(error),
            None => Ok(Program { output: expr.ty.clone(), estimate, variables: builder.variables, root }),
        }
    }

    pub fn output(&self) -> &Type {
        &self.output
    }

    /// Whether the expression mentions a variable.
    pub fn uses(&self, variable: &str) -> bool {
        self.variables.iter().any(|known| **known == *variable)
    }

    /// What an evaluation can cost, given the sizes that were declared.
    pub fn estimate(&self) -> CostRange {
        self.estimate
    }

    /// Evaluates against these variables. What it costs is taken from the budget, and when nothing is left it stops.
    pub fn eval<'a>(
        &'a self,
        variables: &dyn Activation<'a>,
        budget: &mut Budget,
    ) -> Result<Value<'a>, EvalError> {
        eval::run(self, variables, budget)
    }
}

#[derive(Debug)]
pub(crate) enum Node {
    Const(Value<'static>),
    /// A variable of the environment, by its place in the program's list.
    Var(usize),
    /// A variable of a fold around, by its place on the stack.
    Local(usize),
    /// The target of an `optMap`, by its place on the stack; as dear as evaluating it again.
    Held(usize),
    Select(Box<Path>),
    Index(Box<Index>),
    And(Box<[Node]>),
    Or(Box<[Node]>),
    Cond(Box<[Node; 3]>),
    Call(Box<CallNode>),
    /// `x.or(y)`, `x.orValue(y)`: the second only if it is needed.
    Or2(Box<[Node; 2]>, bool),
    /// `x in [constants]`
    InSet(Box<Node>, Value<'static>),
    /// `x.matches('constant')`
    Matches(Box<Node>, Box<Regex>, u64),
    List(Box<[(Node, bool)]>),
    Map(Box<[(Node, Node, bool)]>),
    Struct(Arc<str>, Box<[(Arc<str>, Node, bool)]>),
    Fold(Box<FoldNode>),
    Bind(Box<[Node; 2]>),
    /// A binding of a [`Node::Held`].
    Hold(Box<[Node; 2]>),
}

#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) operand: Node,
    pub(crate) field: Arc<str>,
    pub(crate) mode: Select,
    /// The operand is no variable or path, which costs one more.
    pub(crate) relative: bool,
}

#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) operand: Node,
    pub(crate) index: Node,
    pub(crate) optional: bool,
    pub(crate) relative: bool,
}

#[derive(Debug)]
pub(crate) struct CallNode {
    pub(crate) function: &'static Function,
    pub(crate) rule: Rule,
    pub(crate) args: Box<[Node]>,
}

#[derive(Debug)]
pub(crate) struct FoldNode {
    pub(crate) kind: FoldKind,
    pub(crate) range: Node,
    pub(crate) two: bool,
    pub(crate) filter: Option<Node>,
    pub(crate) body: Node,
}

#[derive(Default)]
struct Builder {
    variables: Vec<Arc<str>>,
    locals: Vec<Arc<str>>,
    failed: Option<EvalError>,
}

impl Builder {
    fn node(&mut self, expr: &Expr) -> Node {
        match &expr.kind {
            Kind::Literal(literal) => Node::Const(constant(literal)),
            Kind::Ident(name) => self.named(name, &expr.ty),
            Kind::Select { operand, field, mode } => {
                let operand = self.node(operand);
                let relative = !operand.is_path();
                Node::Select(Box::new(Path { operand, field: field.clone(), mode: *mode, relative }))
            }
            Kind::Call(call) => self.call(call),
            Kind::List(items) => {
                let nodes =
                    items.iter().map(|item| (self.node(&item.value), item.optional)).collect::<Box<[_]>>();
                constant_list(&nodes).unwrap_or(Node::List(nodes))
            }
            Kind::Map(entries) => {
                let of = |entry: &crate::syntax::ast::Entry, builder: &mut Self| {
                    (builder.node(&entry.key), builder.node(&entry.value), entry.optional)
                };
                let nodes = entries.iter().map(|entry| of(entry, self)).collect::<Box<[_]>>();
                constant_map(&nodes).unwrap_or(Node::Map(nodes))
            }
            Kind::Struct { name, fields } => {
                let fields =
                    fields.iter().map(|field| (field.name.clone(), self.node(&field.value), field.optional));
                Node::Struct(name.clone(), fields.collect())
            }
            Kind::Fold(fold) => {
                let range = self.node(&fold.range);
                let outer = self.locals.len();
                self.locals.push(fold.var.clone());
                self.locals.extend(fold.var2.clone());
                let filter = fold.filter.as_ref().map(|filter| self.node(filter));
                let body = self.node(&fold.body);
                self.locals.truncate(outer);
                Node::Fold(Box::new(FoldNode {
                    kind: fold.kind,
                    range,
                    two: fold.var2.is_some(),
                    filter,
                    body,
                }))
            }
            Kind::Bind { name, value, body } => {
                let value = self.node(value);
                self.locals.push(name.clone());
                let body = self.node(body);
                self.locals.pop();
                let parts = Box::new([value, body]);
                if **name == *HELD { Node::Hold(parts) } else { Node::Bind(parts) }
            }
        }
    }

    fn fail(&mut self, error: EvalError) -> Node {
        self.failed.get_or_insert(error);
        Node::Const(Value::Null)
    }

    fn named(&mut self, name: &Arc<str>, ty: &Type) -> Node {
        if let Some(place) = self.locals.iter().rposition(|known| known == name) {
            return if **name == *HELD { Node::Held(place) } else { Node::Local(place) };
        }
        if let Type::Type(_) = ty {
            return Node::Const(Value::Type(Text::Shared(name.clone())));
        }
        let place = self.variables.iter().position(|known| known == name).unwrap_or_else(|| {
            self.variables.push(name.clone());
            self.variables.len() - 1
        });
        Node::Var(place)
    }

    fn call(&mut self, call: &Call) -> Node {
        let args: Vec<Node> = call.target.iter().chain(&call.args).map(|arg| self.node(arg)).collect();
        match &*call.function {
            "_&&_" => return Node::And(args.into()),
            "_||_" => return Node::Or(args.into()),
            _ => {}
        }
        let rule = Rule::of(&call.function, &call.overloads);
        match (&*call.function, <[Node; 3]>::try_from(args)) {
            ("_?_:_", Ok(three)) => Node::Cond(Box::new(three)),
            (_, Ok(three)) => called(call, rule, three.into()),
            (_, Err(args)) => match (&*call.function, <[Node; 2]>::try_from(args)) {
                ("_[_]" | "_[?_]", Ok([operand, index])) => {
                    let relative = !operand.is_path();
                    let optional = &*call.function == "_[?_]";
                    Node::Index(Box::new(Index { operand, index, optional, relative }))
                }
                ("or", Ok(two)) => Node::Or2(Box::new(two), false),
                ("orValue", Ok(two)) => Node::Or2(Box::new(two), true),
                ("@in", Ok([wanted, Node::Const(list)])) if is_plain_set(&list) => {
                    Node::InSet(Box::new(wanted), list)
                }
                ("find" | "findAll", Ok([text, Node::Const(Value::String(pattern))])) => {
                    match regexes::compile(&pattern) {
                        Ok(_) => called(call, rule, vec![text, Node::Const(Value::String(pattern))]),
                        Err(error) => self.fail(error),
                    }
                }
                ("matches", Ok([text, Node::Const(Value::String(pattern))])) => {
                    match regexes::compile(&pattern) {
                        Ok(regex) => {
                            Node::Matches(Box::new(text), Box::new(regex), pattern.chars().count() as u64)
                        }
                        Err(error) => self.fail(error),
                    }
                }
                (_, Ok(two)) => called(call, rule, two.into()),
                (_, Err(args)) => match folded(call, &args) {
                    Some(Ok(value)) => Node::Const(value),
                    Some(Err(error)) => self.fail(error),
                    None => called(call, rule, args),
                },
            },
        }
    }
}

fn called(call: &Call, rule: Rule, args: Vec<Node>) -> Node {
    match library::function(&call.function) {
        Some(function) => Node::Call(Box::new(CallNode { function, rule, args: args.into() })),
        None => Node::Const(Value::Null),
    }
}

/// A conversion of a constant is done once.
fn folded(call: &Call, args: &[Node]) -> Option<Result<Value<'static>, EvalError>> {
    let converts = matches!(
        &*call.function,
        "bool" | "bytes" | "double" | "duration" | "dyn" | "int" | "string" | "timestamp" | "type" | "uint"
    );
    match args {
        [Node::Const(value)] if converts => {
            Some((library::function(&call.function)?.run)(std::slice::from_ref(value)))
        }
        _ => None,
    }
}

fn constant(literal: &Literal) -> Value<'static> {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(truth) => Value::Bool(*truth),
        Literal::Int(number) => Value::Int(*number),
        Literal::Uint(number) => Value::Uint(*number),
        Literal::Double(number) => Value::Double(*number),
        Literal::String(text) => Value::String(Text::Shared(text.clone())),
        Literal::Bytes(bytes) => Value::Bytes(bytes.clone()),
    }
}

fn constant_list(items: &[(Node, bool)]) -> Option<Node> {
    let values = items.iter().map(|(item, optional)| match item {
        Node::Const(value) if !optional => Some(value.clone()),
        _ => None,
    });
    Some(Node::Const(Value::list(values.collect::<Option<Vec<_>>>()?)))
}

fn constant_map(entries: &[(Node, Node, bool)]) -> Option<Node> {
    let mut values: Vec<(Value<'static>, Value<'static>)> = Vec::with_capacity(entries.len());
    for entry in entries {
        let (Node::Const(key), Node::Const(value), false) = entry else { return None };
        match values.iter().position(|(known, _)| compare::equal(known, key).unwrap_or(false)) {
            Some(place) => values[place].1 = value.clone(),
            None => values.push((key.clone(), value.clone())),
        }
    }
    Some(Node::Const(Value::Map(Map::Values(Arc::new(values)))))
}

/// Lists of one plain type are looked into for nothing.
fn is_plain_set(value: &Value<'static>) -> bool {
    let Value::List(list) = value else { return false };
    let mut types = list.iter().map(|item| match item {
        Ok(
            item @ (Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::String(_)),
        ) => Some(std::mem::discriminant(&item)),
        _ => None,
    });
    match types.next() {
        Some(Some(first)) => types.all(|ty| ty == Some(first)),
        _ => false,
    }
}

impl Node {
    /// A variable, or fields and items of one.
    pub(crate) fn is_path(&self) -> bool {
        match self {
            Node::Var(_) | Node::Local(_) => true,
            Node::Select(path) => !path.relative && path.mode == Select::Value,
            Node::Index(index) => !index.relative && !index.optional,
            _ => false,
        }
    }
}
