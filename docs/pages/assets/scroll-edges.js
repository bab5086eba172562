// SPDX-License-Identifier: GPL-2.0-only
// Marks the sides on which something wide continues; extra.css lets these edges fade. The keyboard reaches
// it, too. The theme's search gets the name that it lacks for those who hear the page.
(function () {
  const wide = ".md-typeset__scrollwrap, .md-typeset pre > code";

  function mark(it) {
    const hidden = it.scrollWidth - it.clientWidth;
    it.classList.toggle("continues-left", hidden > 1 && it.scrollLeft > 1);
    it.classList.toggle("continues-right", hidden > 1 && it.scrollLeft < hidden - 1);
    if (hidden > 1) it.tabIndex = 0;
    else it.removeAttribute("tabindex");
  }

  function markAll() {
    document.querySelectorAll(wide).forEach(mark);
  }

  function scrolled(event) {
    if (event.target instanceof Element && event.target.matches(wide)) mark(event.target);
  }

  document.querySelectorAll(".md-search, #__search").forEach((it) => {
    it.setAttribute("aria-label", "Search");
  });
  document.addEventListener("scroll", scrolled, true);
  document.addEventListener("toggle", markAll, true);
  window.addEventListener("load", markAll);
  new ResizeObserver(markAll).observe(document.documentElement);
})();
