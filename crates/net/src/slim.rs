//! Lists with little room to spare: every port has some, and most of them have few entries at once.

/// Appends an item. The list grows by half of its entries, from one on; a first `Vec::push` allocates room for four.
#[inline(always)]
pub(crate) fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() == list.capacity() {
        grow(list);
    }
    list.push(item);
}

#[cold]
fn grow<T>(list: &mut Vec<T>) {
    list.reserve_exact(list.len() / 2 + 1);
}
