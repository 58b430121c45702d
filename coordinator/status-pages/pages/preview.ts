import { createHash } from 'node:crypto';
import { type Html, html, icon } from '../../web/html.ts';

/**
 * The public page as it would be, in a frame that can do nothing: it has our
 * origin only so that the font need not come once more. A change gives the frame another
 * id, so that it is replaced: browsers do not let scripts write documents into one.
 */
export function previewFrame(document: string): Html {
  const id = createHash('sha256').update(document).digest('hex').slice(0, 12);
  return html`
    <section class="card stack page-preview" aria-labelledby="preview-title">
      <div class="section-head">
        <h2 id="preview-title">Preview</h2>
        <button class="button" name="act" value="look" formnovalidate data-stays>
          ${icon('again')}Refresh
        </button>
      </div>
      <div id="preview" data-refreshed>
        <iframe
          id="frame-${id}"
          title="Preview of the public page"
          sandbox="allow-same-origin"
          srcdoc="${document}"
        ></iframe>
      </div>
    </section>
  `;
}
