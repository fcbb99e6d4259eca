// Chooses light or dark before anything is drawn, so that nothing flashes.
(() => {
  let kept = null;
  try { kept = localStorage.getItem("saem.theme"); } catch { /* A browser that keeps nothing follows the system. */ }
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
})();
