// Let a payer pay in a dialog on the merchant's own page.
//
//   SandboxPop.open({
//     key, reference, amount, currency, email,   // amount in minor units; key is the public one
//     metadata, title, closeLabel,               // as wanted
//     onSuccess({ reference, status }), onCancel({ reference, status }),
//     onError({ code, message }), onClose(),     // onClose comes last, whatever happened
//   })
//
// What the callbacks are told proves nothing: the merchant's server must verify the reference.
(function () {
  "use strict";
  const home = new URL(document.currentScript.src).origin;
  const FIELDS = ["key", "reference", "amount", "currency", "email", "metadata", "callback_url"];

  // A reference starts one checkout. Whoever closes the dialog, or reloads, goes on with it.
  const begun = {
    name: (reference) => "sandbox-pop:" + reference,
    find(reference) {
      try { return sessionStorage.getItem(this.name(reference)); } catch { return null; }
    },
    keep(reference, code) {
      try { sessionStorage.setItem(this.name(reference), code); } catch { /* not kept, then */ }
    },
  };

  async function start(options) {
    const known = options.reference && begun.find(options.reference);
    if (known) return { reference: options.reference, access_code: known };
    const fields = Object.fromEntries(FIELDS.map((name) => [name, options[name]]));
    const answer = await fetch(home + "/checkout/start", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(fields),
      credentials: "omit",
    });
    const body = await answer.json();
    if (body.status !== true) throw Object.assign(new Error(body.message), { code: body.code });
    begun.keep(body.data.reference, body.data.access_code);
    return body.data;
  }

  function make(tag, style, values) {
    const element = Object.assign(document.createElement(tag), values);
    // Not by a style attribute or sheet: a strict policy on the merchant's page forbids those.
    Object.assign(element.style, style);
    return element;
  }

  function build(options, checkout) {
    const title = options.title || "Payment";
    const dialog = make("dialog", {
      position: "fixed", inset: "0", inlineSize: "100%", blockSize: "100%", maxInlineSize: "none",
      maxBlockSize: "none", margin: "0", padding: "0", border: "0", display: "grid",
      placeItems: "center", background: "rgb(0 0 0 / 60%)",
    });
    dialog.setAttribute("role", "dialog");
    dialog.setAttribute("aria-modal", "true");
    dialog.setAttribute("aria-label", title);
    const box = make("div", {
      display: "flex", flexDirection: "column", inlineSize: "min(30rem, 100%)",
      blockSize: "min(50rem, 100%)", background: "Canvas", color: "CanvasText",
      colorScheme: "light dark", overflow: "hidden",
    });
    const bar = make("div", { display: "flex", alignItems: "center", gap: "1rem" });
    const name = make("strong", { flex: "1", paddingInlineStart: "1rem" }, { textContent: title });
    const close = make("button", {
      minInlineSize: "3rem", minBlockSize: "3rem", border: "0", background: "transparent",
      color: "inherit", font: "1.5rem/1 system-ui, sans-serif", cursor: "pointer",
    }, { type: "button", textContent: "\u00d7" });
    close.setAttribute("aria-label", options.closeLabel || "Close");
    const frame = make("iframe", { flex: "1", inlineSize: "100%", border: "0" }, {
      title, src: home + "/checkout/" + encodeURIComponent(checkout.access_code) + "?popup&lang="
        + encodeURIComponent(document.documentElement.lang), // of the page around it
    });
    // Each of its pages takes the focus, so that keys and screen readers are where the payer is.
    frame.addEventListener("load", () => frame.focus());
    bar.append(name, close);
    box.append(bar, frame);
    dialog.append(box);
    return { dialog, close, frame };
  }

  function show(options, checkout) {
    const { dialog, close, frame } = build(options, checkout);
    let last = { reference: checkout.reference, status: "abandoned" };

    function end() {
      window.removeEventListener("message", hear);
      dialog.close(); // gives the focus back to where it was
      dialog.remove();
      // A late payment is pending: not a success yet, but no cancel either.
      const paid = last.status === "success" || last.status === "pending";
      call(paid ? options.onSuccess : options.onCancel, last);
      call(options.onClose);
    }

    function hear(event) {
      if (event.origin !== home || event.source !== frame.contentWindow) return;
      const told = event.data || {};
      if (told.type !== "sandbox-checkout") return;
      if (told.reference === checkout.reference) {
        last = { reference: told.reference, status: told.status };
      }
      if (told.ends || told.leaves) end();
    }

    window.addEventListener("message", hear);
    close.addEventListener("click", end);
    dialog.addEventListener("cancel", (event) => { event.preventDefault(); end(); }); // Escape
    document.body.append(dialog);
    dialog.showModal();
  }

  function call(callback, told) {
    if (callback) callback(told);
  }

  let busy = false; // between a click and the dialog: a second click starts nothing

  window.SandboxPop = {
    async open(options) {
      if (busy) return;
      busy = true;
      try {
        show(options, await start(options));
      } catch (error) {
        call(options.onError, { code: error.code || "unreachable", message: error.message });
        call(options.onClose);
      } finally {
        busy = false;
      }
    },
  };
})();
