//! Templates that outlive the list that they were made for, so that objects written since then lean on the same ones as those before.

use std::sync::Arc;

use parking_lot::Mutex;

use super::template::{Known, Template};
use super::{Encoder, Form, TEMPLATES};

/// How much memory all of them may take.
const HELD: usize = 2 * 1024 * 1024;

/// Those that served last come first.
#[derive(Debug, Default)]
pub struct Templates(Mutex<Vec<Arc<Template>>>);

impl Templates {
    /// An encoder of a list that knows what others before it have found.
    pub fn encoder(&self, form: &Form) -> Encoder {
        let known = self.0.lock();
        let known = known.iter().filter(|template| template.is_of(form.message));
        Encoder { templates: known.cloned().map(Known::new).collect(), ..Encoder::default() }
    }

    /// Keeps what an encoder has found, as far as many objects were like it.
    pub fn keep(&self, encoder: &Encoder) {
        let found = encoder.templates.iter().map(|known| &known.template).filter(|found| found.is_common());
        let mut templates = self.0.lock();
        let before = std::mem::take(&mut *templates);
        let mut held = 0;
        for template in found.chain(&before) {
            let alike = templates.iter().filter(|kept| kept.is_of(template.message())).count();
            let is_kept = templates.iter().any(|kept| Arc::ptr_eq(kept, template));
            if !is_kept && alike < TEMPLATES && held + template.held() <= HELD {
                held += template.held();
                templates.push(template.clone());
            }
        }
    }
}
