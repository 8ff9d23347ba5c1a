//! What all questions about one context share: its places, and what path words get there.

use super::commands::{self, Key, Outcomes, ROOT};
use super::paths::{self, Model};
use crate::automata::{TooLarge, glob};
use crate::hir::{Action, Assert, Context, Policy};
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

/// The places of a context, and what they are written over.
pub struct Places<'p> {
    /// Tells apart what the context's rules, its assertions and [`ROOT`] do.
    pub alphabet: paths::Alphabet,
    /// What holds where.
    pub model: Model<'p>,
}

/// One context's places and outcomes, each found when it is first asked for.
pub struct Grounds<'p> {
    /// The context.
    pub context: &'p Context,
    asserts: Vec<&'p Assert>,
    places: OnceCell<Result<Places<'p>, TooLarge>>,
    outcomes: RefCell<Vec<(Vec<Key>, Rc<Outcomes>)>>,
}

impl<'p> Grounds<'p> {
    /// Those of all contexts of a policy, in order.
    #[must_use]
    pub fn of(policy: &'p Policy) -> Vec<Grounds<'p>> {
        let of_context = |(index, context)| Grounds {
            context,
            asserts: policy.asserts.iter().filter(|a| a.context == index).collect(),
            places: OnceCell::new(),
            outcomes: RefCell::default(),
        };
        policy.contexts.iter().enumerate().map(of_context).collect()
    }

    /// The places.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn places(&self) -> Result<&Places<'p>, TooLarge> {
        let make = || {
            let own = self.asserts.iter().filter(|a| matches!(a.action, Action::Path(_)));
            let own = own.flat_map(|a| a.pattern.iter().chain(&a.except)).map(|p| p.text.as_str());
            // What cannot be read is not asked about either.
            let own = own.filter(|text| glob::gitignore(text).is_ok());
            let alphabet = paths::Alphabet::new(&[self.context], own.chain([ROOT]))?;
            let model = Model::new(self.context, &alphabet)?;
            Ok(Places { alphabet, model })
        };
        self.places.get_or_init(make).as_ref().map_err(|error| *error)
    }

    /// What path words of an alphabet get that has no other sides.
    #[must_use]
    pub fn outcomes(&self, alphabet: &commands::Alphabet) -> Rc<Outcomes> {
        let mut all = self.outcomes.borrow_mut();
        // Letters are numbered by the keys alone.
        if let Some((_, known)) = all.iter().find(|(keys, _)| keys == alphabet.keys()) {
            return Rc::clone(known);
        }
        let made = match () {
            () if alphabet.keys().is_empty() => Outcomes::default(),
            () => match self.places() {
                Ok(own) => Outcomes::of(alphabet, &own.alphabet, &[&own.model]),
                Err(_) => Outcomes::unknown(alphabet),
            },
        };
        let made = Rc::new(made);
        all.push((alphabet.keys().to_vec(), Rc::clone(&made)));
        made
    }
}
