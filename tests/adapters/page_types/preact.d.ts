export const h: any;
export function render(tree: any, place: Element): void;
export class Component {
  props: any;
  state: any;
}
