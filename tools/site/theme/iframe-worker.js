// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// Browsers start no worker from a file, so the search of a site that is opened without a
// server runs in a hidden frame instead.

"use strict";

if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      const script = new URL(url, location.href).href.replace(/"/g, "%22");
      this.inside = new Promise((resolve) => {
        frame.addEventListener("load", () => {
          const inside = frame.contentWindow;
          inside.postMessage = (data) =>
            this.dispatchEvent(new MessageEvent("message", { data }));
          const element = inside.document.createElement("script");
          element.src = script;
          element.addEventListener("load", () => resolve(inside));
          inside.document.head.append(element);
        });
      });
      frame.srcdoc = "<!doctype html><title>search</title>";
      document.documentElement.append(frame);
    }

    postMessage(data) {
      this.inside.then((inside) =>
        inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }
  };
}
